package kyverno

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// What is always guarded, whatever a configuration adds.
var (
	ownPolicies   = []string{"polex-*", "validate-polex"}
	ownNamespaces = []string{"polex-system", "kyverno"}
)

// Guard is what no exception may reach: the policies and namespaces of polex and of
// Kyverno, and those that a configuration adds. The zero value has only the former.
// PolicyException itself is guarded too, in both API groups.
type Guard struct{ policies, namespaces []string }

// NewGuard adds names or patterns to what is always guarded. An empty one, and one
// that fits any name, is an error.
func NewGuard(policies, namespaces []string) (Guard, error) {
	for _, pattern := range slices.Concat(policies, namespaces) {
		if pattern == "" || wildcard.Only(pattern) {
			return Guard{}, fmt.Errorf("%q is no name to guard: it would refuse every exception or none", pattern)
		}
	}
	return Guard{slices.Clone(policies), slices.Clone(namespaces)}, nil
}

// HasPolicy returns the name or pattern of a guarded policy that a name, or a
// pattern, is or fits. Letter case does not count, which is stricter than Kyverno.
func (g Guard) HasPolicy(name string) (guarded string, found bool) {
	return either(name, ownPolicies, g.policies)
}

// HasNamespace is [Guard.HasPolicy] of a namespace.
func (g Guard) HasNamespace(name string) (guarded string, found bool) {
	return either(name, ownNamespaces, g.namespaces)
}

// ownObjects is how the names of the guard's own objects begin, in its namespace and in
// none.
const ownObjects = "polex-guard"

// hasObject reports whether a name, or a pattern that does not fit any name, is or fits
// the name of one of the guard's own objects.
func (Guard) hasObject(name string) bool {
	return !wildcard.Only(name) && (wildcard.Overlap(name, ownObjects) || strings.HasPrefix(strings.ToLower(name), ownObjects))
}

func either(name string, own, added []string) (guarded string, found bool) {
	if guarded, found = wildcard.OverlapsAny(name, own); found {
		return guarded, found
	}
	return wildcard.OverlapsAny(name, added)
}

// meansException reports whether an entry of kinds covers PolicyException as
// Kyverno reads it, or names it in a form that Kyverno would not read.
func meansException(kind string) bool {
	if ParseKind(kind).Covers(exceptionKind, exceptionGroups...) {
		return true
	}
	return slices.ContainsFunc(strings.FieldsFunc(kind, func(r rune) bool { return r == '/' || r == '.' }), namesException)
}

// namesException reports whether a word is one of the names that the kind goes
// by, in any case.
func namesException(word string) bool {
	return slices.ContainsFunc(exceptionNames, func(name string) bool { return strings.EqualFold(name, word) })
}
