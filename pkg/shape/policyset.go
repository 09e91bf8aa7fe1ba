package shape

import (
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/manifest"
)

// PolicySet is what is known of the policies that exceptions are from. Without
// one, nothing that needs it is checked; an empty one says that there are no
// policies. It does not change once it is read and can be used by several
// goroutines.
type PolicySet struct {
	// byRef holds the policies by what an exception calls them: for kyverno.io a
	// ClusterPolicy's name or a Policy's namespace/name, for policies.kyverno.io
	// the kind and the name.
	byRef map[policyKey][]*policy
	// homeless are kyverno.io Policies whose namespace is not in their document,
	// by name: kustomize or the like will say it.
	homeless map[string][]*policy
	// named holds every policy by its bare name.
	named map[string][]*policy
	// guards holds the policies that are about exceptions by bare name, in lower
	// case.
	guards map[string][]*policy
	// names are the keys of byRef's names, sorted, by group.
	names map[string][]string
	count int
}

type policyKey struct{ group, kind, name string }

// ReadPolicies makes a set of those documents that are Kyverno policies, in
// whichever version of their group, and passes over the others: a folder of
// policies also holds their tests and values. A policy that is written several
// times, say once for each cluster, has the rules of all of them.
func ReadPolicies(docs []*exception.Document) *PolicySet {
	set := &PolicySet{byRef: map[policyKey][]*policy{}, homeless: map[string][]*policy{}, named: map[string][]*policy{}, guards: map[string][]*policy{}, names: map[string][]string{}}
	for _, d := range manifest.Objects(docs) {
		p := readPolicy(d)
		if p == nil {
			continue
		}
		set.count++
		set.named[p.Name] = append(set.named[p.Name], p)
		if p.guard != "" {
			name := strings.ToLower(p.Name)
			set.guards[name] = append(set.guards[name], p)
		}
		if p.Kind == "Policy" && p.Namespace == "" {
			set.homeless[p.Name] = append(set.homeless[p.Name], p)
			continue
		}
		key := p.key()
		set.byRef[key] = append(set.byRef[key], p)
	}
	for key := range maps.Keys(set.byRef) {
		set.names[key.group] = append(set.names[key.group], key.name)
	}
	for group := range set.names {
		slices.Sort(set.names[group])
	}
	return set
}

// Len returns how many policies the set holds.
func (set *PolicySet) Len() int { return set.count }

// Named returns the policies that an exception names, in its order, without
// those that the set does not know.
func (set *PolicySet) Named(e *exception.Exception) []Policy {
	var named []Policy
	for _, ref := range e.Policies {
		for _, p := range set.find(e.Identity.Group, ref) {
			if !slices.Contains(named, p.Policy) {
				named = append(named, p.Policy)
			}
		}
	}
	return named
}

// Successors returns, for the policyName of each policy that a kyverno.io
// exception names, the kind of the policies.kyverno.io policy of the same name,
// where there is just one such kind.
func (set *PolicySet) Successors(e *exception.Exception) map[string]string {
	kinds := map[string]string{}
	for _, ref := range e.Policies {
		var found []string
		for _, p := range set.named[ref.Name[strings.LastIndex(ref.Name, "/")+1:]] {
			if p.Group == exception.PoliciesGroup && !slices.Contains(found, p.Kind) {
				found = append(found, p.Kind)
			}
		}
		if len(found) == 1 {
			kinds[ref.Name] = found[0]
		}
	}
	return kinds
}

// find returns the documents of the policy that an exception of a group names,
// as Kyverno compares names: exactly.
func (set *PolicySet) find(group string, ref exception.PolicyRef) []*policy {
	if group == exception.PoliciesGroup {
		return set.byRef[policyKey{group, ref.Kind, ref.Name}]
	}
	found := set.byRef[policyKey{group: group, name: ref.Name}]
	if _, name, namespaced := strings.Cut(ref.Name, "/"); namespaced && len(set.homeless[name]) > 0 {
		found = slices.Concat(found, set.homeless[name])
	}
	return found
}
