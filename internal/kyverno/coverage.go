package kyverno

import (
	"slices"

	"github.com/polex-dev/polex/pkg/exception"
)

// A dimension is something that conditions can restrict.
const (
	exceptions = iota // the kind, so far as PolicyException is one of it
	namespaced        // the kind, so far as Namespace is one of it
	namespaces
	names
	whole // the name, so far as it is written in full
	dimensions
)

// mention is what a condition says of the guard's objects in one dimension. The zero value is
// the one that proves nothing.
type mention uint8

const (
	possible    mention = iota // it may select them
	unmentioned                // it says nothing
	excluded                   // it cannot select them
)

// coverage is what parts of a condition that are joined by && say. The zero value covers
// anything.
type coverage [dimensions]mention

// silent is the coverage of what reads nothing.
var silent = coverage{unmentioned, unmentioned, unmentioned, unmentioned, unmentioned}

// and is the coverage of what both are true of.
func (c coverage) and(other coverage) coverage {
	for i := range c {
		switch {
		case c[i] == excluded || other[i] == excluded:
			c[i] = excluded
		case c[i] == possible || other[i] == possible:
			c[i] = possible
		}
	}
	return c
}

// coverages are those of alternatives, each once: there are 243 that differ. Without any,
// nothing is proved.
type coverages []coverage

// both is what is true of two conditions, whichever alternatives are.
func (a *asking) both(some, others coverages) coverages {
	if !a.work.Spend(len(some) * len(others) * tokenWork) {
		return coverages{{}}
	}
	var joined coverages
	for _, x := range some {
		for _, y := range others {
			joined = joined.or(coverages{x.and(y)})
		}
	}
	return joined
}

func (all coverages) or(others coverages) coverages {
	for _, c := range others {
		if !slices.Contains(all, c) {
			all = append(all[:len(all):len(all)], c)
		}
	}
	return all
}

// allows asks whether a condition leaves out the guard, whichever alternative is true.
func (a *asking) allows(all coverages, path exception.Path, others bool) {
	by, addKind, addNamespace := "this condition", "add the kinds as literals: object.kind == 'Pod', or object.kind in ['Pod', 'Deployment']",
		"add the namespaces as literals: object.metadata.namespace == 'team-a'"
	if others {
		by = "this condition by itself"
		addKind = "join the conditions by && in one: in a policy that Kyverno generates, each exempts by itself"
		addNamespace = addKind
	}
	if len(all) == 0 {
		all = coverages{{}} // no alternative is no proof
	}
	for _, c := range all {
		switch {
		case !a.ordinary && c[exceptions] == possible:
			a.says(path, addKind, "%s may also exempt a PolicyException: an exception must not exempt exceptions from their checks", by)
			return
		case c[namespaces] == possible:
			a.says(path, addNamespace, "%s may also exempt resources in a guarded namespace", by)
			return
		case c[names] == possible && c[namespaced] != excluded && c[namespaces] != excluded:
			a.says(path, addKind, "%s may also exempt a guarded Namespace", by)
			return
		case !a.ordinary && c[exceptions] != excluded && c[namespaces] != excluded && c[whole] != excluded:
			a.says(path, addKind, "%s requires no kind, namespace or whole name, so PolicyExceptions are exempt too: an exception must not exempt exceptions from their checks", by)
			return
		}
	}
}
