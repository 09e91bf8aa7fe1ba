package kyverno

import (
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// PolicySet contains the known policies. Without a set, polex skips the checks that need one. An
// empty set means that there are no policies. A set does not change and is safe for concurrent use.
type PolicySet struct {
	// Incomplete means that a file of policies could not be read: any other may exist.
	Incomplete bool
	// Proposed means that a part comes from the pull request whose exceptions are judged. None is ordinary.
	Proposed bool

	// byKey contains the policies by their key in an exception. For kyverno.io the key is the name
	// of a ClusterPolicy or namespace/name of a Policy, for policies.kyverno.io the kind and name.
	byKey map[PolicyKey][]*Policy
	// named contains every policy by its name without a namespace, in lower case.
	named map[string][]*Policy
	count int
	kinds []string
}

// PolicyKey identifies a policy in an exception of a group.
type PolicyKey struct{ Group, Kind, Name string }

// Key returns the key of the policy.
func (r Ref) Key() PolicyKey { return PolicyKey{r.Group, r.Kind.Text, r.Name.Text} }

func (p *Policy) key() PolicyKey {
	switch {
	case !HasRules(p.Kind):
		return PolicyKey{p.Group, p.Kind, p.Name}
	case p.Namespace != "":
		return PolicyKey{Group: p.Group, Name: p.Namespace + "/" + p.Name}
	default:
		return PolicyKey{Group: p.Group, Name: p.Name}
	}
}

// ReadPolicies returns a set of the documents that are Kyverno policies, in any version. It ignores
// other documents, because a folder of policies also contains tests and values. If a policy occurs
// several times, for example once for each cluster, all its rules count.
func ReadPolicies(docs []*exception.Document) *PolicySet {
	set := &PolicySet{byKey: map[PolicyKey][]*Policy{}, named: map[string][]*Policy{}}
	for _, d := range manifest.Objects(docs) {
		p := readPolicy(d)
		if p == nil {
			continue
		}
		set.count++
		name := strings.ToLower(p.Name)
		set.named[name] = append(set.named[name], p)
		if !p.isHomeless() {
			set.byKey[p.key()] = append(set.byKey[p.key()], p)
		}
		for _, t := range p.targets {
			set.kinds = append(set.kinds, t.kinds()...)
		}
	}
	slices.Sort(set.kinds)
	set.kinds = slices.Compact(set.kinds)
	return set
}

// Kinds returns the sorted kinds of resources that the policies name.
func (set *PolicySet) Kinds() []string { return set.kinds }

// isHomeless reports whether the document of a kyverno.io Policy has no namespace: kustomize or a similar tool adds it.
func (p *Policy) isHomeless() bool { return p.Kind == namespacedPolicy && p.Namespace == "" }

// where returns the policies of a name for which a condition is true.
func (set *PolicySet) where(name string, is func(*Policy) bool) []*Policy {
	var all []*Policy
	for _, p := range set.named[strings.ToLower(name)] {
		if p.Name == name && is(p) {
			all = append(all, p)
		}
	}
	return all
}

// Len returns the number of policies.
func (set *PolicySet) Len() int { return set.count }

// Find returns the documents of the policy that an exception names. Names have to be equal, as in Kyverno.
func (set *PolicySet) Find(ref Ref) []*Policy {
	policies := set.byKey[ref.Key()]
	if _, name, namespaced := strings.Cut(ref.Name.Text, "/"); namespaced && ref.Group == exception.KyvernoGroup {
		if homeless := set.where(name, (*Policy).isHomeless); len(homeless) > 0 {
			return slices.Concat(policies, homeless)
		}
	}
	return policies
}

// Rules returns the rules that a reference names, themselves or by a rule that Kyverno generates from them.
func (set *PolicySet) Rules(work *wildcard.Meter, ref Ref) (rules []Rule) {
	for _, p := range set.Find(ref) {
		for _, r := range p.Rules {
			if !work.Spend(1) {
				return nil
			}
			if r.NamedBy(work, ref.RuleNames()) {
				rules = append(rules, r)
			}
		}
	}
	return rules
}

// Reached returns the policies to which a reference applies: those of [PolicySet.Find] and, for
// policies.kyverno.io, the policies of this name from which Kyverno can generate an admission
// policy. These have any kind; see [Ref.Namespaced].
func (set *PolicySet) Reached(ref Ref) []*Policy {
	reached := set.Find(ref)
	for _, kind := range []string{"ValidatingPolicy", "MutatingPolicy"} {
		if ref.Group == exception.PoliciesGroup && ref.Kind.Text != kind {
			reached = slices.Concat(reached, set.byKey[PolicyKey{ref.Group, kind, ref.Name.Text}])
		}
	}
	return reached
}

// Called returns the policies of a name or "namespace/name", of any kind and group. A policy without a namespace in its
// document matches every namespace. Each document of a policy is one result.
func (set *PolicySet) Called(name string) []*Policy {
	namespace, bare, namespaced := strings.Cut(name, "/")
	if !namespaced {
		bare = name
	}
	return set.where(bare, func(p *Policy) bool {
		hasNamespace := p.Kind == namespacedPolicy || strings.HasPrefix(p.Kind, "Namespaced")
		return !namespaced || p.Namespace == namespace || hasNamespace && p.Namespace == ""
	})
}

// Near returns the policies of the same name, of any kind, group and namespace.
func (set *PolicySet) Near(ref Ref) []*Policy {
	return set.where(ref.Bare(), func(*Policy) bool { return true })
}

// Names returns the sorted names by which exceptions of a group can reference the policies.
func (set *PolicySet) Names(group string) []string {
	var names []string
	for key := range set.byKey {
		if key.Group == group {
			names = append(names, key.Name)
		}
	}
	slices.Sort(names)
	return names
}

// RuleNames returns the sorted names of the rules of some policies, including generated rules. It
// returns nil if there is no policy.
func RuleNames(policies []*Policy) []string {
	if len(policies) == 0 {
		return nil
	}
	names := []string{}
	for _, p := range policies {
		for _, r := range p.Rules {
			names = slices.AppendSeq(names, maps.Keys(r.Forms()))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// RuleNames returns the names of the rules of all policies, including generated rules.
func (set *PolicySet) RuleNames() []string {
	return RuleNames(slices.Concat(slices.Collect(maps.Values(set.named))...))
}

// Successors returns the kind of the policies.kyverno.io policy for each policyName of a kyverno.io
// exception. It omits names for which there is not exactly one such kind.
func (set *PolicySet) Successors(e *Exception) map[string]string {
	kinds := map[string]string{}
	for _, ref := range e.Refs {
		var found []string
		for _, p := range set.Near(ref) {
			if !HasRules(p.Kind) && !slices.Contains(found, p.Kind) {
				found = append(found, p.Kind)
			}
		}
		if len(found) == 1 {
			kinds[ref.Name.Text] = found[0]
		}
	}
	return kinds
}

// Guards returns the policies about exceptions that a reference names. It ignores the kind and the
// case of letters, which is stricter than Kyverno.
func (set *PolicySet) Guards(ref Ref) []*Policy {
	namespace, bare, namespaced := strings.Cut(ref.Name.Text, "/")
	if !namespaced || ref.Group != exception.KyvernoGroup {
		namespace, bare = "", ref.Name.Text
	}
	return slices.DeleteFunc(slices.Clone(set.named[strings.ToLower(bare)]), func(p *Policy) bool {
		return p.Guards == "" || p.Group != ref.Group ||
			namespace != "" && p.Namespace != "" && !strings.EqualFold(p.Namespace, namespace)
	})
}
