package shape

import "github.com/polex-dev/polex/pkg/exception"

// claimIndex finds the exceptions that may overlap with another: those from the
// same policy, for a same name or namespace. Most exceptions name what they are
// for, so that thousands from one policy are not each held against all others.
type claimIndex map[policyKey]*claimsOfPolicy

type claimsOfPolicy struct {
	all                []*claim
	names, namespaces  map[string][]*claim
	nameless, anywhere []*claim // by a pattern, or by nothing
}

// refKey is what an exception calls a policy.
func refKey(group string, ref exception.PolicyRef) policyKey {
	return policyKey{group, ref.Kind, ref.Name}
}

func (index claimIndex) add(c *claim) {
	for key := range c.keys() {
		of := index[key]
		if of == nil {
			of = &claimsOfPolicy{names: map[string][]*claim{}, namespaces: map[string][]*claim{}}
			index[key] = of
		}
		of.all = append(of.all, c)
		of.nameless = put(of.names, of.nameless, c, c.names, c.nameless)
		of.anywhere = put(of.namespaces, of.anywhere, c, c.namespaces, c.anywhere)
	}
}

func put(index map[string][]*claim, wide []*claim, c *claim, names []string, isWide bool) []*claim {
	if isWide {
		return append(wide, c)
	}
	for _, name := range names {
		index[name] = append(index[name], c)
	}
	return wide
}

// keys returns the policies that a claim names, each once.
func (c *claim) keys() map[policyKey]exception.PolicyRef {
	keys := make(map[policyKey]exception.PolicyRef, len(c.policies))
	for _, ref := range c.policies {
		key := refKey(c.id.Group, ref)
		if _, met := keys[key]; !met {
			keys[key] = ref
		}
	}
	return keys
}

// near returns the claims of one policy that may overlap with another: by its
// names or its namespaces, whichever are fewer.
func (of *claimsOfPolicy) near(c *claim) [][]*claim {
	byName, byNamespace := [][]*claim{of.all}, [][]*claim{of.all}
	if !c.nameless {
		byName = listed(of.names, of.nameless, c.names)
	}
	if !c.anywhere {
		byNamespace = listed(of.namespaces, of.anywhere, c.namespaces)
	}
	if !c.anywhere && total(byNamespace) < total(byName) {
		return byNamespace
	}
	return byName
}

func listed(index map[string][]*claim, wide []*claim, names []string) [][]*claim {
	lists := [][]*claim{wide}
	for _, name := range names {
		if len(index[name]) > 0 {
			lists = append(lists, index[name])
		}
	}
	return lists
}

func total(lists [][]*claim) int {
	sum := 0
	for _, list := range lists {
		sum += len(list)
	}
	return sum
}
