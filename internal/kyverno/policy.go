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
	// AboutPods means that a policy of policies.kyverno.io applies to Pods, and therefore to the
	// templates of their controllers.
	AboutPods bool
	// OnlyPods means that it applies to nothing else, before Kyverno adds the controllers.
	OnlyPods bool
	// Guards explains how the policy applies to PolicyExceptions; "": it does not.
	Guards string
	// Ordinary means that the policy cannot match PolicyExceptions or Namespaces (ordinary.go).
	Ordinary bool
	// NamesKyverno means that a text of its spec contains or matches a name of Kyverno or polex: a
	// namespace, kind or image.
	NamesKyverno bool
	// ReadsImages and ReadsValues mean that an expression of policies.kyverno.io reads the images or
	// the allowedValues of exceptions.
	ReadsImages, ReadsValues bool
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
	// Early means that the rule verifies images or mutates. Such a rule runs before the API server
	// has generated a name from generateName.
	Early bool
	// Context are the names of the variables that the rule sets.
	Context []string
	// Made contains the names of the rules that Kyverno 1.19 generates from this one, by the kind
	// of the Pod controller.
	Made map[string]string

	names []string // of this rule and of those
	kinds []KindSelector
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

// HasRules reports whether policies of a kind have rules that exceptions name. Those of kyverno.io
// have.
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
		rules := readRules(spec)
		controllers := autogenControllers(rules, d.Statement("metadata", "annotations", annotationControllers))
		for _, r := range rules {
			if name, _ := r.tree["name"].(string); name != "" && len(name) <= manifest.LongestName {
				rule := r.rule(name, controllers)
				p.Rules, p.targets = append(p.Rules, rule), append(p.targets, r.targets(p, rule)...)
			}
		}
		p.Guards, p.Ordinary = guardingRule(rules), isOrdinary(rules)
	} else {
		constraints, _ := spec["matchConstraints"].(map[string]any)
		p.AboutPods, p.OnlyPods = constrainsPods(constraints), constrainsOnlyPods(constraints)
		if constrainsExceptions(constraints) {
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

// constrainsPods reports whether matchConstraints select Pods. Kyverno 1.19 then applies the policy
// to the templates of their controllers too.
func constrainsPods(constraints map[string]any) bool {
	rules, _ := constraints["resourceRules"].([]any)
	return slices.ContainsFunc(rules, func(item any) bool {
		rule, _ := item.(map[string]any)
		return slices.ContainsFunc(manifest.Words(rule["resources"]),
			func(name string) bool { return name == "pods" || name == "*" || name == "*/*" })
	})
}

// constrainsOnlyPods reports whether matchConstraints select Pods and nothing else.
func constrainsOnlyPods(constraints map[string]any) bool {
	rules, _ := constraints["resourceRules"].([]any)
	return len(rules) > 0 && !slices.ContainsFunc(rules, func(item any) bool {
		rule, _ := item.(map[string]any)
		return !slices.Equal(manifest.Words(rule["resources"]), []string{"pods"})
	})
}

// hasText reports whether a text below a value contains another one.
func hasText(value any, part string) (has bool) {
	eachText(value, func(text string) { has = has || strings.Contains(text, part) })
	return has
}
