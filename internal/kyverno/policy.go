package kyverno

import (
	"maps"
	"slices"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Policy is a policy as its document has it, with what an exception can name of it.
type Policy struct {
	exception.Identity
	Severity string // the annotation [AnnotationSeverity]; may be empty
	Rules    []Rule // of kyverno.io
	// AboutPods says that a policy of policies.kyverno.io is asked about Pods, and
	// so about the templates of their controllers.
	AboutPods bool
	// Guards says how the policy is about PolicyExceptions; "" when it is not.
	Guards string
	// Ordinary says that the policy cannot match PolicyExceptions or Namespaces (ordinary.go).
	Ordinary bool
	// NamesKyverno says that a text of its spec names Kyverno or polex: their namespaces, kinds
	// or images.
	NamesKyverno bool
}

// Rule is a rule as its policy has it.
type Rule struct {
	Name string
	// PodSecurity says that the rule checks a profile of the Pod Security
	// Standards, so that an exception can name some of its controls.
	PodSecurity bool
	// Early says that the rule is asked before the API server has made a name of
	// generateName: it verifies images, or changes the resource.
	Early bool
	// Made are the names of the rules that Kyverno 1.19 makes of this one, by the
	// kind of the controller of Pods that each is for.
	Made map[string]string

	names []string // of this one and of those
}

// AnnotationSeverity is where a policy states its severity.
const AnnotationSeverity = "policies.kyverno.io/severity"

const (
	clusterPolicy    = "ClusterPolicy"
	namespacedPolicy = "Policy"
)

// ConditionPolicyKinds are the kinds that Kyverno looks up exceptions of
// policies.kyverno.io for, in this spelling.
var ConditionPolicyKinds = []string{
	"ValidatingPolicy", "ImageValidatingPolicy", "MutatingPolicy", "GeneratingPolicy", "DeletingPolicy",
	"NamespacedValidatingPolicy", "NamespacedImageValidatingPolicy", "NamespacedMutatingPolicy", "NamespacedGeneratingPolicy", "NamespacedDeletingPolicy",
}

// HasRules reports whether a policy of a kind has rules, which its exceptions name:
// those of kyverno.io do.
func HasRules(kind string) bool { return kind == clusterPolicy || kind == namespacedPolicy }

// readPolicy returns nil for a document that is no policy.
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
		id.Namespace = "" // the API server ignores one
	}
	p := &Policy{Identity: id, Severity: d.Annotation(AnnotationSeverity)}
	value, _ := d.Lookup("spec")
	spec, _ := value.(map[string]any)
	p.NamesKyverno = namesKyverno(spec)
	if HasRules(id.Kind) {
		rules := readRules(spec)
		controllers := autogenControllers(rules, d.Statement("metadata", "annotations", annotationControllers))
		for _, r := range rules {
			if name, _ := r.tree["name"].(string); name != "" && len(name) <= manifest.LongestName {
				p.Rules = append(p.Rules, r.rule(name, controllers))
			}
		}
		p.Guards, p.Ordinary = guardingRule(rules), isOrdinary(rules)
	} else {
		constraints, _ := spec["matchConstraints"].(map[string]any)
		p.AboutPods = constrainsPods(constraints)
		if constrainsExceptions(constraints) {
			p.Guards = "its matchConstraints cover policyexceptions"
		}
		p.Ordinary = isOrdinarySpec(spec)
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
	names := append(slices.Collect(maps.Values(made)), name)
	slices.Sort(names)
	return Rule{Name: name, PodSecurity: podSecurity != nil, Early: r.tree["verifyImages"] != nil || r.tree["mutate"] != nil, Made: made, names: slices.Compact(names)}
}

// Forms returns the names that the rule runs by, each with the kinds of Pods and their
// controllers that it is run for.
func (r Rule) Forms() map[string][]string {
	forms := map[string][]string{r.Name: {"Pod"}}
	for _, kind := range slices.Sorted(maps.Keys(r.Made)) {
		forms[r.Made[kind]] = append(forms[r.Made[kind]], kind)
	}
	return forms
}

// NamedBy reports whether one of the patterns fits the rule or one that is made of it.
func (r Rule) NamedBy(work *wildcard.Meter, patterns []string) bool {
	return slices.ContainsFunc(r.names, func(name string) bool { return work.FitsAny(patterns, name) })
}

// constrainsPods reports whether matchConstraints ask about Pods. Then Kyverno 1.19 asks
// about the templates of their controllers, too.
func constrainsPods(constraints map[string]any) bool {
	rules, _ := constraints["resourceRules"].([]any)
	return slices.ContainsFunc(rules, func(item any) bool {
		rule, _ := item.(map[string]any)
		return slices.ContainsFunc(manifest.Words(rule["resources"]), func(name string) bool { return name == "pods" || name == "*" || name == "*/*" })
	})
}
