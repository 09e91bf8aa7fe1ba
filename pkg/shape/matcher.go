package shape

import (
	"slices"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/manifest"
	"github.com/polex-dev/polex/pkg/shape/internal/wildcard"
)

// matcher says which resources an exception is for.
type matcher interface {
	// candidates calls visit with every resource that may match, until it
	// returns false. A resource may come twice.
	candidates(work *wildcard.Meter, set *ResourceSet, visit func(*resource) bool)
	// takes reports whether the exception is for a resource, and what has to be
	// assumed for that.
	takes(work *wildcard.Meter, r *resource) (bool, assumptions)
	// made reports whether the exception names a kind whose objects are mostly
	// made by controllers.
	made() bool
}

// matcher returns the matcher of the exception's API group, or nil where it
// cannot be told which resources the exception is for.
func (s *subject) matcher() matcher {
	if s.Exc.Identity.Group == exception.PoliciesGroup {
		if m := s.conditionMatcher(); m != nil {
			return m
		}
		return nil
	}
	conditions, _ := s.Spec()["conditions"].(map[string]any)
	return legacyMatcher{block: readMatch(s.Spec()["match"]), conditional: len(conditions) > 0}
}

// legacyMatcher is for kyverno.io.
type legacyMatcher struct {
	block       matchBlock
	conditional bool // there are conditions too, in a language that is not evaluated
}

func (m legacyMatcher) candidates(work *wildcard.Meter, set *ResourceSet, visit func(*resource) bool) {
	if len(m.block.any) == 0 && len(m.block.all) > 0 {
		// All must match: whatever the narrowest leaves out is left out.
		narrowest := slices.IndexFunc(m.block.all, func(f matchFilter) bool {
			return f.name != "" && !wildcard.In(f.name) || len(f.names) > 0 && !slices.ContainsFunc(f.names, wildcard.In)
		})
		set.candidates(work, &m.block.all[max(narrowest, 0)], visit)
		return
	}
	for i := range m.block.any {
		more := true
		set.candidates(work, &m.block.any[i], func(r *resource) bool { more = visit(r); return more })
		if !more || work.Spent() {
			return
		}
	}
}

func (m legacyMatcher) takes(work *wildcard.Meter, r *resource) (bool, assumptions) {
	if !m.block.takes(work, r) {
		return false, 0
	}
	var assumed assumptions
	if m.conditional {
		assumed |= assumedConditions
	}
	if m.made() {
		assumed |= assumedMade
	}
	_, inNamespace := r.inNamespace()
	for _, f := range m.block.filters() {
		if f.users {
			assumed |= assumedSender
		}
		if !inNamespace && (len(f.namespaces) > 0 || f.namespaceSelector != nil) {
			assumed |= assumedNamespace
		}
		if f.namespaceSelector != nil && r.home != nil && !r.home.written {
			assumed |= assumedNamespaceLabels
		}
	}
	return true, assumed
}

func (m legacyMatcher) made() bool {
	return slices.ContainsFunc(m.block.filters(), func(f matchFilter) bool {
		return slices.ContainsFunc(f.kinds, func(k manifest.KindSelector) bool { return slices.Contains(manifest.MadeKinds, k.Kind) })
	})
}
