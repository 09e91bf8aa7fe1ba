package kyverno

import (
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
)

// PolicySet is what is known of the policies that exceptions are from. Without
// one, nothing that needs it is checked; an empty one says that there are no
// policies. It does not change once it is read and can be used by several
// goroutines.
type PolicySet struct {
	// Incomplete says that a file of policies could not be read: one that is not in the set
	// may exist, with any rule.
	Incomplete bool
	// Proposed says that some of it comes from the pull request whose exceptions are judged:
	// then it does not say that a policy is ordinary.
	Proposed bool

	// byKey holds the policies by what an exception calls them: for kyverno.io a
	// ClusterPolicy's name or a Policy's namespace/name, for policies.kyverno.io
	// the kind and the name.
	byKey map[PolicyKey][]*Policy
	// homeless are kyverno.io Policies whose namespace is not in their document,
	// by name: kustomize or the like will say it.
	homeless map[string][]*Policy
	// named holds every policy by its bare name.
	named map[string][]*Policy
	// guards holds the policies that are about exceptions by bare name, in lower
	// case.
	guards map[string][]*Policy
	// names are the keys of byKey's names, sorted, by group.
	names map[string][]string
	count int
}

// PolicyKey is what an exception of a group calls a policy.
type PolicyKey struct{ Group, Kind, Name string }

// Key returns what the exception calls the policy.
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

// ReadPolicies makes a set of those documents that are Kyverno policies, in
// whichever version of their group, and passes over the others: a folder of
// policies also holds their tests and values. A policy that is written several
// times, say once for each cluster, has the rules of all of them.
func ReadPolicies(docs []*exception.Document) *PolicySet {
	set := &PolicySet{byKey: map[PolicyKey][]*Policy{}, homeless: map[string][]*Policy{}, named: map[string][]*Policy{}, guards: map[string][]*Policy{}, names: map[string][]string{}}
	for _, d := range manifest.Objects(docs) {
		p := readPolicy(d)
		if p == nil {
			continue
		}
		set.count++
		set.named[p.Name] = append(set.named[p.Name], p)
		if p.Guards != "" {
			name := strings.ToLower(p.Name)
			set.guards[name] = append(set.guards[name], p)
		}
		if p.Kind == namespacedPolicy && p.Namespace == "" {
			set.homeless[p.Name] = append(set.homeless[p.Name], p)
			continue
		}
		set.byKey[p.key()] = append(set.byKey[p.key()], p)
	}
	for key := range maps.Keys(set.byKey) {
		set.names[key.Group] = append(set.names[key.Group], key.Name)
	}
	for group := range set.names {
		slices.Sort(set.names[group])
	}
	return set
}

// Len returns how many policies the set holds.
func (set *PolicySet) Len() int { return set.count }

// Find returns the documents of the policy that an exception names, as Kyverno compares
// names: exactly.
func (set *PolicySet) Find(ref Ref) []*Policy {
	found := set.byKey[ref.Key()]
	if _, name, namespaced := strings.Cut(ref.Name.Text, "/"); namespaced && ref.Group == exception.KyvernoGroup && len(set.homeless[name]) > 0 {
		found = slices.Concat(found, set.homeless[name])
	}
	return found
}

// Reached returns the policies that a reference reaches: those of [PolicySet.Find], and for
// policies.kyverno.io the ones of its name that Kyverno can generate an admission policy
// from, whatever kind the reference says ([Ref.Namespaced] has the place).
func (set *PolicySet) Reached(ref Ref) []*Policy {
	reached := set.Find(ref)
	for _, kind := range []string{"ValidatingPolicy", "MutatingPolicy"} {
		if ref.Group == exception.PoliciesGroup && ref.Kind.Text != kind {
			reached = slices.Concat(reached, set.byKey[PolicyKey{ref.Group, kind, ref.Name.Text}])
		}
	}
	return reached
}

// Called returns the policies of a name, with the namespace before it
// ("namespace/name") or without, of whichever kind and group. One whose document does
// not say its namespace lives in any. A policy that has several documents is there
// once for each.
func (set *PolicySet) Called(name string) []*Policy {
	namespace, bare, namespaced := strings.Cut(name, "/")
	if !namespaced {
		bare = name
	}
	return slices.DeleteFunc(slices.Clone(set.named[bare]), func(p *Policy) bool {
		lives := p.Kind == namespacedPolicy || strings.HasPrefix(p.Kind, "Namespaced") // in a namespace
		return namespaced && p.Namespace != namespace && (!lives || p.Namespace != "")
	})
}

// Near returns the policies of the same name, whichever their kind, group and namespace.
func (set *PolicySet) Near(ref Ref) []*Policy { return set.named[ref.Bare()] }

// Names returns the names by which exceptions of a group can call the policies, sorted.
func (set *PolicySet) Names(group string) []string { return set.names[group] }

// RuleNames returns the names of the rules of some policies, with those that Kyverno
// makes, sorted. It is nil where there is no policy.
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

// RuleNames returns the names of the rules of all policies of the set, those included that
// Kyverno makes.
func (set *PolicySet) RuleNames() []string {
	return RuleNames(slices.Concat(slices.Collect(maps.Values(set.named))...))
}

// Successors returns, for the policyName of each policy that a kyverno.io
// exception names, the kind of the policies.kyverno.io policy of the same name,
// where there is just one such kind.
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

// Guards returns the policies about exceptions that an exception would except from.
// Letter case does not count, nor does the kind: both are stricter than Kyverno.
func (set *PolicySet) Guards(ref Ref) []*Policy {
	name := strings.ToLower(ref.Name.Text)
	namespace, bare, namespaced := strings.Cut(name, "/")
	if !namespaced || ref.Group != exception.KyvernoGroup {
		namespace, bare = "", name
	}
	return slices.DeleteFunc(slices.Clone(set.guards[bare]), func(p *Policy) bool {
		return p.Group != ref.Group || namespace != "" && p.Namespace != "" && strings.ToLower(p.Namespace) != namespace
	})
}
