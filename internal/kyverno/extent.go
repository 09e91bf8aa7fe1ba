package kyverno

import (
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

// standing is how what is guarded stands in one dimension. The zero value is the one
// that proves nothing.
type standing uint8

const (
	open     standing = iota // it may be picked out
	unspoken                 // nothing is said of it
	leftOut                  // it cannot be meant
	standings
)

// extent is what a conjunction is about. The zero value is anything.
type extent [dimensions]standing

// silent is the extent of what reads nothing.
var silent = extent{unspoken, unspoken, unspoken, unspoken, unspoken}

// and is the extent of what both are true of.
func (e extent) and(other extent) extent {
	for i := range e {
		switch {
		case e[i] == leftOut || other[i] == leftOut:
			e[i] = leftOut
		case e[i] == open || other[i] == open:
			e[i] = open
		}
	}
	return e
}

// extents are those of alternatives, as a set: there are 243 that differ. The zero
// value has none, and proves nothing either.
type extents [standings * standings * standings * standings * standings]bool

func (e extent) number() int {
	n := 0
	for _, s := range e {
		n = n*int(standings) + int(s)
	}
	return n
}

func numbered(n int) (e extent) {
	for i := len(e) - 1; i >= 0; i-- {
		e[i], n = standing(n%int(standings)), n/int(standings) //nolint:gosec // less than standings
	}
	return e
}

func only(e extent) (all extents) {
	all[e.number()] = true
	return all
}

func (all extents) and(others extents) (both extents) {
	for i, is := range all {
		if !is {
			continue
		}
		for j, too := range others {
			if too {
				both[numbered(i).and(numbered(j)).number()] = true
			}
		}
	}
	return both
}

func (all extents) or(others extents) extents {
	for i, is := range others {
		all[i] = all[i] || is
	}
	return all
}

// allows asks whether a condition leaves out the guard, whichever alternative is true.
func (a *asking) allows(all extents, path exception.Path, others bool) {
	by, addKind, addNamespace := "this condition", "add the kinds as literals: object.kind == 'Pod', or object.kind in ['Pod', 'Deployment']",
		"add the namespaces as literals: object.metadata.namespace == 'team-a'"
	if others {
		by = "this condition by itself"
		addKind = "join the conditions by && in one: in a policy that Kyverno generates, each exempts by itself"
		addNamespace = addKind
	}
	if all == (extents{}) {
		all = only(extent{}) // no alternative is no proof
	}
	for n, is := range all {
		if !is {
			continue
		}
		e := numbered(n)
		switch {
		case e[exceptions] == open:
			a.says(path, addKind, "%s may also exempt a PolicyException: an exception must not exempt exceptions from their checks", by)
			return
		case e[namespaces] == open:
			a.says(path, addNamespace, "%s may also exempt resources in a namespace that the guard lives in", by)
			return
		case e[names] == open && e[namespaced] != leftOut && e[namespaces] != leftOut:
			a.says(path, addKind, "%s may also exempt a Namespace that the guard lives in", by)
			return
		case e[exceptions] != leftOut && e[namespaces] != leftOut && e[whole] != leftOut:
			a.says(path, addKind, "%s requires no kind, namespace or whole name, so PolicyExceptions are exempt too: an exception must not exempt exceptions from their checks", by)
			return
		}
	}
}
