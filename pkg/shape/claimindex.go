package shape

import (
	"hash/maphash"

	"github.com/polex-dev/polex/internal/kyverno"
)

// claimIndex finds the claims that may overlap with another: those from the same
// policy, for a same name or namespace. Most exceptions name what they are for,
// so that thousands from one policy are not each held against all others.
//
// It knows claims by their numbers, and what they are listed under by a hash
// alone. Two listings that share a hash, by a chance of one in 2^64, are one
// list: more claims come near, and what is said of them is still found out by
// comparing them.
type claimIndex struct {
	seed maphash.Seed
	// first holds the number of the only claim of a listing or, where there are
	// several, ^i for the list several[i]. Nearly every name is that of one.
	first   map[uint64]int
	several [][]int
}

// listing is what claims are listed under: a policy and, but for byPolicy, a
// name or a namespace. No text is for those of which a pattern says it, or
// nothing.
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

func (index *claimIndex) add(number int, c *claim) {
	if index.first == nil {
		index.first, index.seed = map[uint64]int{}, maphash.MakeSeed()
	}
	done := map[kyverno.PolicyKey]bool{} // a policy can be named twice
	for _, ref := range c.policies {
		policy := ref.PolicyKey
		if done[policy] {
			continue
		}
		done[policy] = true
		index.put(number, listing{PolicyKey: policy})
		if c.nameless {
			index.put(number, listing{PolicyKey: policy, by: byName})
		}
		for _, name := range c.names {
			index.put(number, listing{policy, byName, name})
		}
		if c.anywhere {
			index.put(number, listing{PolicyKey: policy, by: byNamespace})
		}
		for _, namespace := range c.namespaces {
			index.put(number, listing{policy, byNamespace, namespace})
		}
	}
}

func (index *claimIndex) put(number int, l listing) {
	hash := maphash.Comparable(index.seed, l)
	switch at, listed := index.first[hash]; {
	case !listed:
		index.first[hash] = number
	case at < 0:
		index.several[^at] = append(index.several[^at], number)
	default:
		index.first[hash] = ^len(index.several)
		index.several = append(index.several, []int{at, number})
	}
}

func (index *claimIndex) get(l listing) []int {
	switch at, listed := index.first[maphash.Comparable(index.seed, l)]; {
	case !listed:
		return nil
	case at < 0:
		return index.several[^at]
	default:
		return []int{at}
	}
}

// near returns the claims of one policy that may overlap with another: by its
// names or its namespaces, whichever are fewer.
func (index *claimIndex) near(c *claim, policy kyverno.PolicyKey) [][]int {
	if index.first == nil {
		return nil
	}
	named := [][]int{index.get(listing{PolicyKey: policy})}
	housed := named
	if !c.nameless {
		named = index.lists(policy, byName, c.names)
	}
	if !c.anywhere {
		housed = index.lists(policy, byNamespace, c.namespaces)
	}
	if !c.anywhere && total(housed) < total(named) {
		return housed
	}
	return named
}

// lists returns the claims that may be for one of the texts.
func (index *claimIndex) lists(policy kyverno.PolicyKey, by listedBy, texts []string) [][]int {
	lists := [][]int{index.get(listing{PolicyKey: policy, by: by})}
	for _, text := range texts {
		lists = append(lists, index.get(listing{policy, by, text}))
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
