package kyverno

import (
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Policy is a policy, with the parts that matter to exceptions.
type Policy struct {
	exception.Identity
	Severity string // the annotation policies.kyverno.io/severity; may be empty
	Rules    []Rule // of kyverno.io
	// AboutPods means that it applies to Pods, and so to the templates of their controllers (policies.kyverno.io).
	AboutPods bool
	// OnlyPods means that it applies to nothing else, before Kyverno adds the controllers.
	OnlyPods bool
	// Guards explains how the policy applies to PolicyExceptions; "": it does not.
	Guards string
	// Ordinary means that the policy cannot match PolicyExceptions or Namespaces (policyguards.go).
	Ordinary bool
	// NamesKyverno means that a text of its spec contains or matches a name of Kyverno or polex, such as an image.
	NamesKyverno bool
	// ReadsImages and ReadsValues mean that an expression of policies.kyverno.io reads the images or
	// the allowedValues of exceptions.
	ReadsImages, ReadsValues bool
	// RequestsOnly means that no background scan applies it.
	RequestsOnly bool
	// ReadsOwners means that its spec mentions ownerReferences: it may ignore what controllers create.
	ReadsOwners bool

	targets []Target
}

// Rule is one rule of a policy.
type Rule struct {
	Name string
	// PodSecurity means that the rule checks a profile of the Pod Security Standards. An exception
	// can then name controls. Baseline means that it does not check the profile restricted.
	PodSecurity, Baseline bool
	// Spares are the controls that such a rule excludes as a whole: of Pods, or with images of containers.
	Spares []Control
	// Early means that the rule verifies images or mutates. Such a rule runs before the API server
	// has generated a name from generateName.
	Early bool
	// Context are the names of the variables that the rule sets.
	Context []string
	// Made are the names of the rules that Kyverno 1.19 generates from this one, by the kind of controller.
	Made map[string]string

	ReadsOwners bool // that of the policy

	names   []string // of this rule and of those
	targets []Target // likewise
	kinds   []KindSelector
}

// Subresource returns the entry of kinds for a subresource of a kind, such as Pod/exec, if the rule is
// about that and not about the kind itself; else "".
func (r *Rule) Subresource(kind string) (entry string) {
	for _, k := range r.kinds {
		switch {
		case !wildcard.Fits(k.Kind, kind):
		case wildcard.Fits(k.Subresource, ""):
			return ""
		case !wildcard.In(k.Subresource):
			entry = kind + "/" + k.Subresource
		}
	}
	return entry
}

const (
	clusterPolicy    = "ClusterPolicy"
	namespacedPolicy = "Policy"
)

// ConditionPolicyKinds are the kinds of policies for which Kyverno looks up exceptions of
// policies.kyverno.io, in this spelling.
var ConditionPolicyKinds = []string{
	"ValidatingPolicy", "ImageValidatingPolicy", "MutatingPolicy", "GeneratingPolicy", "DeletingPolicy",
	"NamespacedValidatingPolicy", "NamespacedImageValidatingPolicy", "NamespacedMutatingPolicy",
	"NamespacedGeneratingPolicy", "NamespacedDeletingPolicy",
}

// HasRules reports whether policies of a kind have rules that exceptions name. Those of kyverno.io have.
func HasRules(kind string) bool { return kind == clusterPolicy || kind == namespacedPolicy }

// readPolicy returns nil for a document that is not a policy.
func readPolicy(d *exception.Document) *Policy {
	id := d.Identity()
	switch {
	case id.Name == "" || len(id.Name) > manifest.LongestName || len(id.Namespace) > manifest.LongestName:
		return nil
	case id.Group == exception.KyvernoGroup && HasRules(id.Kind):
	case id.Group == exception.PoliciesGroup && slices.Contains(ConditionPolicyKinds, id.Kind):
	default:
		return nil
	}
	if id.Kind == clusterPolicy {
		id.Namespace = "" // the API server ignores it
	}
	p := &Policy{Identity: id, Severity: d.Annotation("policies.kyverno.io/severity")}
	value, _ := d.Lookup("spec")
	spec, _ := value.(map[string]any)
	p.NamesKyverno, p.ReadsOwners = namesKyverno(spec), hasText(spec, "ownerReferences")
	if HasRules(id.Kind) {
		p.RequestsOnly = spec["background"] == false
		rules := readRules(spec)
		controllers := autogenControllers(rules, d.Statement("metadata", "annotations", annotationControllers))
		for _, r := range rules {
			if name, _ := r.tree["name"].(string); name != "" && len(name) <= manifest.LongestName {
				rule := r.rule(name, controllers)
				rule.targets, rule.ReadsOwners = r.targets(p, rule), p.ReadsOwners
				p.Rules, p.targets = append(p.Rules, rule), append(p.targets, rule.targets...)
			}
		}
		p.Guards, p.Ordinary = guardingRule(rules), isOrdinary(rules)
	} else {
		rules := resourceRules(spec["matchConstraints"], "resourceRules")
		// Kyverno 1.19 then applies the policy to the templates of their controllers too.
		p.AboutPods = slices.ContainsFunc(rules, func(r resourceRule) bool {
			return slices.ContainsFunc([]string{"pods", "*", "*/*"},
				func(name string) bool { return slices.Contains(r.resources, name) })
		})
		p.OnlyPods = len(rules) > 0 && !slices.ContainsFunc(rules,
			func(r resourceRule) bool { return !slices.Equal(r.resources, []string{"pods"}) })
		if constrainsExceptions(spec["matchConstraints"]) {
			p.Guards = "its matchConstraints cover policyexceptions"
		}
		p.Ordinary = isOrdinarySpec(spec)
		p.targets = []Target{ofConstraints(p, spec)}
		p.ReadsImages, p.ReadsValues = hasText(spec, "allowedImages"), hasText(spec, "allowedValues")
	}
	return p
}

// ruleTree is a rule as it is written.
type ruleTree struct {
	tree           map[string]any
	match, exclude Match
	isRead         bool // match and exclude have the types of their fields
}

func readRules(spec map[string]any) []ruleTree {
	items, _ := spec["rules"].([]any)
	rules := make([]ruleTree, len(items))
	for i, item := range items {
		tree, _ := item.(map[string]any)
		r := &reader{}
		rules[i] = ruleTree{tree: tree, match: r.matchOfRule(tree["match"]), exclude: r.matchOfRule(tree["exclude"])}
		rules[i].isRead = len(r.unread) == 0
	}
	return rules
}

func (r ruleTree) under(field string) map[string]any {
	tree, _ := r.tree[field].(map[string]any)
	return tree
}

func (r ruleTree) rule(name string, controllers []string) Rule {
	podSecurity, _ := r.under("validate")["podSecurity"].(map[string]any)
	made := r.made(name, controllers)
	rule := Rule{
		Name: name, Made: made, Early: r.tree["verifyImages"] != nil || r.tree["mutate"] != nil,
		PodSecurity: podSecurity != nil, Baseline: podSecurity["level"] == "baseline",
		names: append(slices.Collect(maps.Values(made)), name),
	}
	slices.Sort(rule.names)
	rule.names = slices.Compact(rule.names)
	excluded, _ := podSecurity["exclude"].([]any)
	for _, item := range excluded {
		entry, _ := item.(map[string]any)
		images := manifest.Words(entry["images"])
		name, _ := entry["controlName"].(string)
		if entry["restrictedField"] == nil && (len(images) == 0 || slices.Contains(images, "*")) {
			rule.Spares = append(rule.Spares, Control{Name: name, Images: make([]Located, len(images))})
		}
	}
	entries, _ := r.tree["context"].([]any)
	for _, item := range entries {
		entry, _ := item.(map[string]any)
		variable, _ := entry["name"].(string)
		rule.Context = append(rule.Context, variable)
	}
	for _, f := range r.match.Filters() {
		for _, k := range f.Kinds {
			rule.kinds = append(rule.kinds, ParseKind(k.Text))
		}
	}
	return rule
}

// Forms returns the names of the rule and of its generated rules, each with its kinds.
func (r Rule) Forms() map[string][]string {
	forms := map[string][]string{r.Name: {"Pod"}}
	for _, kind := range slices.Sorted(maps.Keys(r.Made)) {
		forms[r.Made[kind]] = append(forms[r.Made[kind]], kind)
	}
	return forms
}

// NamedBy reports whether one of the patterns matches the rule or a rule generated from it.
func (r Rule) NamedBy(work *wildcard.Meter, patterns []string) bool {
	return slices.ContainsFunc(r.names, func(name string) bool { return work.FitsAny(patterns, name) })
}

// hasText reports whether a text below a value contains another one.
func hasText(value any, part string) bool {
	for text := range textsIn(value) {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// reportKinds are the kinds of reports by API group.
var reportKinds = map[string][]string{
	"wgpolicyk8s.io": {"PolicyReport", "ClusterPolicyReport"},
	// Kyverno's CLI uses the last two.
	"openreports.io":     {"Report", "ClusterReport", "PolicyReport", "ClusterPolicyReport"},
	"reports.kyverno.io": {"EphemeralReport", "ClusterEphemeralReport"},
}

// IsReport reports whether a kind is one of policy reports.
func IsReport(kind exception.GroupKind) bool {
	return slices.Contains(reportKinds[kind.Group], kind.Kind)
}

// reportedKinds are the kinds of policies by Kyverno's name for the source of a report result.
var reportedKinds = map[string]string{
	"KyvernoValidatingPolicy":      "ValidatingPolicy",
	"KyvernoImageValidatingPolicy": "ImageValidatingPolicy",
	"KyvernoMutatingPolicy":        "MutatingPolicy",
	"KyvernoGeneratingPolicy":      "GeneratingPolicy",
}

// ReportedKind returns the kind of the policy of a report result, by the result's source and the
// policy's name, which contains a namespace if the policy has one. It returns false for a result of
// another tool (SourceKyverno in pkg/utils/report of Kyverno 1.19.1).
func ReportedKind(source, policy string) (kind string, known bool) {
	namespaced := strings.Contains(policy, "/")
	kind, known = reportedKinds[source]
	switch {
	case known && namespaced:
		return "Namespaced" + kind, true
	case known:
		return kind, true
	case source == "kyverno" && namespaced:
		return namespacedPolicy, true
	case source == "kyverno":
		return clusterPolicy, true
	}
	return "", false
}
