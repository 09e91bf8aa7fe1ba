package shape

import (
	"slices"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/manifest"
)

// Policy is a policy as its document names it.
type Policy struct {
	exception.Identity
	Severity string // the annotation policies.kyverno.io/severity; may be empty
}

const annotationSeverity = "policies.kyverno.io/severity"

// policyKinds are the kinds that an exception of each group can be from.
var policyKinds = map[string][]string{
	exception.KyvernoGroup: {"ClusterPolicy", "Policy"},
	exception.PoliciesGroup: {
		"ValidatingPolicy", "ImageValidatingPolicy", "MutatingPolicy", "GeneratingPolicy", "DeletingPolicy",
		"NamespacedValidatingPolicy", "NamespacedImageValidatingPolicy", "NamespacedMutatingPolicy", "NamespacedGeneratingPolicy", "NamespacedDeletingPolicy",
	},
}

// policy is what the checks need of a policy.
type policy struct {
	Policy
	position exception.Position
	rules    []rule // kyverno.io
	pods     bool   // policies.kyverno.io: it is about Pods
	guard    string // what the policy guards exceptions by; "" when it does not
}

// rule is one of a kyverno.io policy's rules.
type rule struct {
	name        string
	podSecurity bool
	early       bool // it verifies images or changes the resource
	// controllers are the kinds for which Kyverno makes another rule of this
	// one, by that rule's name.
	controllers map[string][]string
}

// readPolicy returns nil for a document that is no policy.
func readPolicy(d *exception.Document) *policy {
	id := d.Identity()
	if !slices.Contains(policyKinds[id.Group], id.Kind) || id.Name == "" || len(id.Name) > manifest.LongestName || len(id.Namespace) > manifest.LongestName {
		return nil
	}
	if id.Kind == "ClusterPolicy" {
		id.Namespace = "" // the API server ignores one
	}
	p := &policy{Policy: Policy{Identity: id, Severity: d.Annotation(annotationSeverity)}, position: d.Position()}
	spec, _ := d.Object()["spec"].(map[string]any)
	if id.Group == exception.KyvernoGroup {
		p.rules = readRules(spec, d)
	} else {
		p.pods = isAboutPods(spec)
	}
	p.guard = guards(id.Group, spec)
	return p
}

func (p *policy) key() policyKey {
	switch {
	case p.Group == exception.PoliciesGroup:
		return policyKey{p.Group, p.Kind, p.Name}
	case p.Namespace != "":
		return policyKey{group: p.Group, name: p.Namespace + "/" + p.Name}
	default:
		return policyKey{group: p.Group, name: p.Name}
	}
}

// ruleNames returns the names of the rules of all documents of one policy, with
// those that Kyverno makes.
func ruleNames(policies []*policy) []string {
	var names []string
	for _, p := range policies {
		for _, r := range p.rules {
			names = append(names, r.name)
			for made := range r.controllers {
				names = append(names, made)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func readRules(spec map[string]any, d *exception.Document) []rule {
	items, _ := spec["rules"].([]any)
	controllers := autogenControllers(items, d)
	rules := make([]rule, 0, len(items))
	for _, item := range items {
		tree, _ := item.(map[string]any)
		name, _ := tree["name"].(string)
		if name == "" || len(name) > manifest.LongestName {
			continue
		}
		validate, _ := tree["validate"].(map[string]any)
		podSecurity, _ := validate["podSecurity"].(map[string]any)
		rules = append(rules, rule{name: name, podSecurity: podSecurity != nil, early: tree["verifyImages"] != nil || tree["mutate"] != nil, controllers: autogenRules(tree, name, controllers)})
	}
	return rules
}

// isAboutPods reports whether a policies.kyverno.io policy is asked about Pods.
// Then Kyverno 1.19 asks it about the templates of their controllers, too.
func isAboutPods(spec map[string]any) bool {
	constraints, _ := spec["matchConstraints"].(map[string]any)
	rules, _ := constraints["resourceRules"].([]any)
	return slices.ContainsFunc(rules, func(item any) bool {
		rule, _ := item.(map[string]any)
		return slices.ContainsFunc(manifest.Words(rule["resources"]), func(name string) bool { return name == "pods" || name == "*" || name == "*/*" })
	})
}
