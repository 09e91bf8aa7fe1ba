package kyverno

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

const kyvernoNamespace = "kyverno"

// These are always guarded.
var (
	ownPolicies   = []string{"polex-*", "validate-polex"}
	ownNamespaces = []string{"polex-system", kyvernoNamespace}
)

// Guard contains the objects that no exception may reach: the policies and namespaces of polex and Kyverno, and those
// of the configuration. The zero value has only the former. PolicyException itself is guarded too, in both API groups.
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

// HasPolicy returns the guarded name or pattern that overlaps with a name or pattern. It ignores the case of letters,
// which is stricter than Kyverno. When the meter is spent, every name is guarded.
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

// admission lets exceptions from one policy exempt one kind and name in the namespace kyverno.
type admission struct{ policy, kind, name string }

// Admitting returns a guard that admits these entries, each "POLICY Kind/name", in the namespace kyverno. No
// entry admits anything in another guarded namespace. An entry has no effect if its policy guards exceptions
// or names Kyverno, or is unknown. It is an error if its policy is guarded by name.
func (g Guard) Admitting(entries []string) (Guard, error) {
	var admitted []admission
	for _, entry := range entries {
		policy, object, _ := strings.Cut(entry, " ")
		slash := strings.LastIndex(object, "/")
		if slash < 0 || strings.ContainsFunc(object, unicode.IsSpace) {
			return g, fmt.Errorf("allowInKyverno: %q is not POLICY Kind/name, such as %q", entry,
				"require-requests Pod/kyverno-*")
		}
		a := admission{policy, object[:slash], object[slash+1:]}
		guarded, isGuarded := g.HasPolicy(wildcard.NewMeter(), a.policy)
		switch {
		case isGuarded:
			return g, fmt.Errorf("allowInKyverno: the policy %q guards exceptions (%s); remove the entry",
				a.policy, guarded)
		case a.policy == "" || strings.ContainsAny(a.policy, "*?/"):
			return g, fmt.Errorf("allowInKyverno: the policy %q is not the name of one policy of the cluster", a.policy)
		case wildcard.In(a.kind) || isGuardedKind(Located{Text: a.kind}):
			return g, fmt.Errorf("allowInKyverno: an exception cannot exempt the kind %q; write one such as Deployment",
				a.kind)
		case a.name == "" || strings.IndexAny(a.name, "*?") == 0:
			return g, fmt.Errorf("allowInKyverno: %q is neither a name nor a pattern that begins with one", a.name)
		}
		admitted = append(admitted, a)
	}
	g.admitted = admitted
	return g, nil
}

// admits reports whether each policy, kind and name of these filters has an entry, with exactly the same texts.
func (a *asking) admits(refs []Ref, filters []Filter) bool {
	if len(a.guard.admitted) == 0 || len(refs) == 0 || len(filters) == 0 {
		return false
	}
	for _, f := range filters {
		names := f.Named()
		if len(f.Kinds) == 0 || len(names) == 0 ||
			!a.work.Spend(itemWork*len(a.guard.admitted)*len(refs)*len(f.Kinds)*len(names)) {
			return false
		}
		for _, ref := range refs {
			if !a.guard.mayAdmit(ref) {
				return false
			}
			for _, kind := range f.Kinds {
				for _, name := range names {
					if !slices.Contains(a.guard.admitted, admission{ref.Name.Text, kind.Text, name.Text}) {
						return false
					}
				}
			}
		}
	}
	return true
}

// mayAdmit reports whether a policy is known, is ordinary and does not name Kyverno.
func (g Guard) mayAdmit(ref Ref) bool {
	return g.isOrdinary(ref) && !slices.ContainsFunc(g.known.Reached(ref),
		func(p *Policy) bool { return p.NamesKyverno })
}

// hasNamespace is [Guard.HasNamespace], but it permits the namespace kyverno where a is admitted there.
func (a *asking) hasNamespace(name string) (guarded string, found bool) {
	if a.admitted && name == kyvernoNamespace {
		return a.work.OverlapsAny(name, a.guard.namespaces)
	}
	return a.guard.HasNamespace(a.work, name)
}

// namespaceHint returns the hint about a guarded namespace.
func namespaceHint(name, otherwise string) string {
	if name == kyvernoNamespace {
		return "name other namespaces. To permit one object, list POLICY Kind/name under " +
			"guard.allowInKyverno of the guard and of .polex.yaml, and the policy's file under guard.policies. The " +
			"exception must then list kinds and names"
	}
	return otherwise
}
