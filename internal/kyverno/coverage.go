package kyverno

import (
	"slices"

	"github.com/polex-dev/polex/pkg/exception"
)

// A dimension is a property that conditions can restrict.
const (
	exceptions = iota // the kind, with respect to PolicyException
	namespaced        // the kind, with respect to Namespace
	namespaces
	names
	whole // a complete name, without a pattern
	dimensions
)

// mention is the effect of a condition on the guard's objects in one dimension. The zero value
// proves nothing.
type mention uint8

const (
	possible    mention = iota // it may select them
	unmentioned                // it does not restrict the dimension
	excluded                   // it cannot select them
)

// coverage is the effect of parts that && joins. The zero value may select everything.
type coverage [dimensions]mention

// silent is the coverage of a part that reads nothing.
var silent = coverage{unmentioned, unmentioned, unmentioned, unmentioned, unmentioned}

// and returns the coverage of two parts that are both true.
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

// coverages are the coverages of alternatives without duplicates, at most 243. An empty list proves
// nothing.
type coverages []coverage

// both combines every alternative of one condition with every alternative of another.
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

// allows checks that each alternative of a condition excludes the objects of the guard.
func (a *asking) allows(all coverages, path exception.Path, others bool) {
	by, addKind, addNamespace := "this condition", "add the kinds as literals: object.kind == 'Pod', or object.kind "+
		"in ['Pod', 'Deployment']",
		"add the namespaces as literals: object.metadata.namespace == 'team-a'"
	if others {
		by = "this condition by itself"
		addKind = "join the conditions by && in one: in a policy that Kyverno generates, each exempts by itself"
		addNamespace = addKind
	}
	const orPolicies = "; or, if its policies do not match PolicyExceptions, add their files to directories.policies " +
		"of .polex.yaml and guard.policies of the guard"
	if len(all) == 0 {
		all = coverages{{}} // an empty list is no proof
	}
	for _, c := range all {
		switch {
		case !a.ordinary && c[exceptions] == possible:
			a.says(path, addKind+orPolicies, "%s may also exempt a PolicyException: an exception must not exempt "+
				"exceptions from their checks", by)
			return
		case c[namespaces] == possible:
			a.says(path, addNamespace, "%s may also exempt resources in a guarded namespace", by)
			return
		case c[names] == possible && c[namespaced] != excluded && c[namespaces] != excluded:
			a.says(path, addKind, "%s may also exempt a guarded Namespace", by)
			return
		case !a.ordinary && c[exceptions] != excluded && c[namespaces] != excluded && c[whole] != excluded:
			a.says(path, addKind+orPolicies, "%s requires no kind, namespace or whole name, so PolicyExceptions are "+
				"exempt too: an exception must not exempt exceptions from their checks", by)
			return
		}
	}
}
