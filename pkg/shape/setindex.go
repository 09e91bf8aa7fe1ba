package shape

import "github.com/polex-dev/polex/internal/kyverno"

// memberIndex finds the members of a set that may overlap with another: those from the same
// policy, for a same name or namespace. Most exceptions name their resources, so
// thousands from one policy are not each compared with all others. It knows members by
// their numbers.
type memberIndex map[listing][]int

// listing is a key of the index: a policy and, except for byPolicy, a name or a
// namespace. The empty text is for members that state it by a pattern or not at all.
type listing struct {
	kyverno.PolicyKey
	by   listedBy
	text string
}

type listedBy int

const (
	byPolicy listedBy = iota
	byName
	byNamespace
)

func (index memberIndex) add(number int, m *member) {
	done := map[kyverno.PolicyKey]bool{} // a policy can be named twice
	for _, ref := range m.policies {
		policy := ref.PolicyKey
		if done[policy] {
			continue
		}
		done[policy] = true
		put := func(by listedBy, text string) {
			l := listing{policy, by, text}
			index[l] = append(index[l], number)
		}
		put(byPolicy, "")
		if m.nameless {
			put(byName, "")
		}
		for _, name := range m.names {
			put(byName, name)
		}
		if m.anywhere {
			put(byNamespace, "")
		}
		for _, namespace := range m.namespaces {
			put(byNamespace, namespace)
		}
	}
}

// near returns the members of one policy that may overlap with another: by its
// names or its namespaces, whichever are fewer.
func (index memberIndex) near(m *member, policy kyverno.PolicyKey) [][]int {
	named := [][]int{index[listing{PolicyKey: policy}]}
	housed := named
	if !m.nameless {
		named = index.lists(policy, byName, m.names)
	}
	if !m.anywhere {
		housed = index.lists(policy, byNamespace, m.namespaces)
	}
	if !m.anywhere && total(housed) < total(named) {
		return housed
	}
	return named
}

// lists returns the members that may be for one of the texts.
func (index memberIndex) lists(policy kyverno.PolicyKey, by listedBy, texts []string) [][]int {
	lists := [][]int{index[listing{PolicyKey: policy, by: by}]}
	for _, text := range texts {
		lists = append(lists, index[listing{policy, by, text}])
	}
	return lists
}

func total(lists [][]int) int {
	sum := 0
	for _, list := range lists {
		sum += len(list)
	}
	return sum
}
