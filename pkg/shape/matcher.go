package shape

import (
	"slices"

	"github.com/polex-dev/polex/pkg/exception"
)

// matcher says which resources an exception is for.
type matcher interface {
	// candidates calls visit with every resource that may match, until it
	// returns false. A resource may come twice.
	candidates(work *meter, set *ResourceSet, visit func(*resource) bool)
	// matches reports whether the exception takes a resource, and whether that
	// can be told at all.
	matches(work *meter, r *resource) (matches, known bool)
	// asks says what the match asks for that files may not say.
	asks() asked
}

// asked is what a match asks for that files may not say.
type asked struct{ users, conditions, namespaces, namespaceLabels, made bool }

// matcher returns the matcher of the exception's API group.
func (s *subject) matcher() matcher {
	if s.exc.Identity.Group == exception.PoliciesGroup {
		return conditionMatcher{}
	}
	conditions, _ := s.spec()["conditions"].(map[string]any)
	return legacyMatcher{block: readMatch(s.spec()["match"]), conditional: len(conditions) > 0}
}

// conditionMatcher is for policies.kyverno.io, whose match conditions are
// expressions. They are not evaluated: nothing is known of any resource.
type conditionMatcher struct{}

func (conditionMatcher) candidates(_ *meter, set *ResourceSet, visit func(*resource) bool) {
	for _, of := range set.kinds {
		for _, r := range of.all {
			if !visit(r) {
				return
			}
		}
	}
}

func (conditionMatcher) matches(*meter, *resource) (matches, known bool) { return false, false }

func (conditionMatcher) asks() asked { return asked{} }

// legacyMatcher is for kyverno.io.
type legacyMatcher struct {
	block       matchBlock
	conditional bool // there are conditions too, in a language that is not evaluated
}

func (m legacyMatcher) candidates(work *meter, set *ResourceSet, visit func(*resource) bool) {
	if len(m.block.any) == 0 && len(m.block.all) > 0 {
		// All must match: whatever the narrowest leaves out is left out.
		narrowest := slices.IndexFunc(m.block.all, func(f matchFilter) bool {
			return f.name != "" && !hasWildcard(f.name) || len(f.names) > 0 && !slices.ContainsFunc(f.names, hasWildcard)
		})
		set.candidates(work, &m.block.all[max(narrowest, 0)], visit)
		return
	}
	for i := range m.block.any {
		more := true
		set.candidates(work, &m.block.any[i], func(r *resource) bool { more = visit(r); return more })
		if !more || work.spent() {
			return
		}
	}
}

func (m legacyMatcher) matches(work *meter, r *resource) (matches, known bool) {
	return m.block.takes(work, r), true
}

func (m legacyMatcher) asks() asked {
	a := asked{conditions: m.conditional}
	for _, f := range m.block.filters() {
		a.users = a.users || f.users
		a.namespaces = a.namespaces || len(f.namespaces) > 0
		a.namespaceLabels = a.namespaceLabels || f.namespaceSelector != nil
		for _, k := range f.kinds {
			a.made = a.made || slices.Contains(madeKinds, k.kind)
		}
	}
	return a
}

// madeKinds are kinds whose objects are mostly made by controllers, and then
// are in no repository.
var madeKinds = []string{"Pod", "ReplicaSet", "Job", "ControllerRevision", "Endpoints", "EndpointSlice", "Event"}
