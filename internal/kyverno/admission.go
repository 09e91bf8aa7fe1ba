package kyverno

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

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

// admits reports whether there is an entry for each policy, kind and name of these filters, with
// exactly the same texts.
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

// hasNamespace is [Guard.HasNamespace], but it permits the namespace kyverno where a is admitted
// there.
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
