package kyverno

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

const kyvernoNamespace = "kyverno"

// What is always guarded, whatever a configuration adds.
var (
	ownPolicies   = []string{"polex-*", "validate-polex"}
	ownNamespaces = []string{"polex-system", kyvernoNamespace}
)

// Guard is what no exception may reach: the policies and namespaces of polex and of
// Kyverno, and those that a configuration adds. The zero value has only the former.
// PolicyException itself is guarded too, in both API groups.
type Guard struct {
	policies, namespaces []string

	known    *PolicySet
	admitted []Admission
}

// NewGuard adds names or patterns to what is always guarded. An empty one, and one
// that fits any name, is an error.
func NewGuard(policies, namespaces []string) (Guard, error) {
	for _, pattern := range slices.Concat(policies, namespaces) {
		if pattern == "" || wildcard.Only(pattern) {
			return Guard{}, fmt.Errorf("%q is no name to guard: it would refuse every exception or none", pattern)
		}
	}
	return Guard{policies: slices.Clone(policies), namespaces: slices.Clone(namespaces)}, nil
}

// Knowing returns the guard with the policies that are known, nil for none. They come from the
// target branch or from the guard's own configuration, and never from what is judged.
func (g Guard) Knowing(policies *PolicySet) Guard {
	g.known = policies
	return g
}

// HasPolicy returns the name or pattern of a guarded policy that a name, or a
// pattern, is or fits. Letter case does not count, which is stricter than Kyverno. When
// the meter is spent, every name is guarded.
func (g Guard) HasPolicy(work *wildcard.Meter, name string) (guarded string, found bool) {
	return either(work, name, ownPolicies, g.policies)
}

// HasNamespace is [Guard.HasPolicy] of a namespace.
func (g Guard) HasNamespace(work *wildcard.Meter, name string) (guarded string, found bool) {
	return either(work, name, ownNamespaces, g.namespaces)
}

// ownObjects are the names of the guard's own objects, in its namespace and in none, as
// policies/guard has them. All of them begin with the first, and others that do are counted too.
var ownObjects = []string{
	"polex-guard", "polex-guard-bootstrap", "polex-guard-ca", "polex-guard-certificate", "polex-guard-client-ca", "polex-guard-cluster", "polex-guard-definitions",
	"polex-guard-kyverno", "polex-guard-mutations", "polex-guard-mutators", "polex-guard-namespace", "polex-guard-policies", "polex-guard-tls",
}

// hasObject returns the name of one of the guard's own objects that a name, or a pattern that
// does not fit any name, is or fits.
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

// meansException reports whether an entry of kinds covers PolicyException as
// Kyverno reads it, or names it in a form that Kyverno would not read.
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

// namesException reports whether a word is one of the names that the kind goes
// by, in any case.
func namesException(word string) bool {
	return slices.ContainsFunc(exceptionNames, func(name string) bool { return strings.EqualFold(name, word) })
}
