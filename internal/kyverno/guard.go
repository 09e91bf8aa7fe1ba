package kyverno

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

const kyvernoNamespace = "kyverno"

// These are always guarded.
var (
	ownPolicies   = []string{"polex-*", "validate-polex"}
	ownNamespaces = []string{"polex-system", kyvernoNamespace}
)

// Guard contains the objects that no exception may reach: the policies and namespaces of polex and
// Kyverno, and those of the configuration. The zero value has only the former. PolicyException
// itself is guarded too, in both API groups.
type Guard struct {
	policies, namespaces []string

	known    *PolicySet
	admitted []admission
}

// NewGuard adds names or patterns to those that are always guarded. An empty pattern, or one that
// matches every name, is an error.
func NewGuard(policies, namespaces []string) (Guard, error) {
	for _, pattern := range slices.Concat(policies, namespaces) {
		if pattern == "" || wildcard.Only(pattern) {
			return Guard{}, fmt.Errorf("%q is not a name to guard: it would reject every exception or none", pattern)
		}
	}
	return Guard{policies: slices.Clone(policies), namespaces: slices.Clone(namespaces)}, nil
}

// Knowing returns the guard with the known policies; nil: none. They come from the target branch or
// from the configuration of polex-guard, and never from the exceptions that are judged.
func (g Guard) Knowing(policies *PolicySet) Guard {
	g.known = policies
	return g
}

// HasPolicy returns the guarded name or pattern that overlaps with a name or pattern. It ignores
// the case of letters, which is stricter than Kyverno. When the meter is spent, every name is
// guarded.
func (g Guard) HasPolicy(work *wildcard.Meter, name string) (guarded string, found bool) {
	return either(work, name, ownPolicies, g.policies)
}

// HasNamespace is [Guard.HasPolicy] for namespaces.
func (g Guard) HasNamespace(work *wildcard.Meter, name string) (guarded string, found bool) {
	return either(work, name, ownNamespaces, g.namespaces)
}

// ownObjects are the names of the guard's objects in policies/guard, with and without a namespace.
// All names begin with the first one. Other names that begin with it are guarded too.
var ownObjects = []string{
	"polex-guard", "polex-guard-bootstrap", "polex-guard-ca", "polex-guard-certificate", "polex-guard-cluster",
	"polex-guard-definitions",
	"polex-guard-kyverno", "polex-guard-mutations", "polex-guard-mutators", "polex-guard-namespace",
	"polex-guard-policies", "polex-guard-static", "polex-guard-tls",
}

// hasObject returns the name of a guard object that overlaps with a name or pattern. It does not
// apply to a pattern that matches every name.
func (Guard) hasObject(work *wildcard.Meter, name string) (guarded string, found bool) {
	if wildcard.Only(name) {
		return "", false
	}
	first := ownObjects[0]
	if head, _, _ := strings.Cut(name, "*"); len(head) >= len(first) && work.Overlap(head[:len(first)], first) {
		return first + "*", true
	}
	return work.OverlapsAny(name, ownObjects)
}

func either(work *wildcard.Meter, name string, own, added []string) (guarded string, found bool) {
	if guarded, found = work.OverlapsAny(name, own); found {
		return guarded, found
	}
	return work.OverlapsAny(name, added)
}

// meansException reports whether an entry of kinds covers PolicyException for Kyverno, or names it
// in a form that Kyverno does not read.
func meansException(kind string) bool {
	if ParseKind(kind).Covers(exceptionKind, exceptionGroups...) {
		return true
	}
	for word := range strings.FieldsFuncSeq(kind, func(r rune) bool { return r == '/' || r == '.' }) {
		if namesException(word) {
			return true
		}
	}
	return false
}

// namesException reports whether a word is a name of the kind, in any case.
func namesException(word string) bool {
	return slices.ContainsFunc(exceptionNames, func(name string) bool { return strings.EqualFold(name, word) })
}
