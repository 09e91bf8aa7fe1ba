package match

import (
	"slices"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Matcher finds the resources that an exception exempts.
type Matcher interface {
	// candidates calls visit with every resource that may match, until it returns false. A resource
	// may occur twice.
	candidates(work *wildcard.Meter, set *Resources, visit func(*Resource) bool)
	// takes reports whether the exception exempts a resource, and under which assumptions.
	takes(work *wildcard.Meter, r *Resource) (bool, Assumptions)
	// Made reports whether the exception names a kind of objects that mostly controllers create.
	Made() bool
}

// legacyMatcher is the matcher for kyverno.io.
type legacyMatcher struct {
	block       Block
	conditional bool // there are also conditions, in a language that polex does not evaluate
}

// NewLegacy returns the matcher for a match. conditional means that there are conditions too.
func NewLegacy(block Block, conditional bool) Matcher {
	return legacyMatcher{block, conditional}
}

func (m legacyMatcher) candidates(work *wildcard.Meter, set *Resources, visit func(*Resource) bool) {
	if len(m.block.Any) == 0 && len(m.block.All) > 0 {
		// All filters have to match, so the narrowest one is sufficient for the search.
		narrowest := slices.IndexFunc(m.block.All, func(f Filter) bool {
			return f.Name != "" && !wildcard.In(f.Name) || len(f.Names) > 0 && !slices.ContainsFunc(f.Names, wildcard.In)
		})
		set.candidates(work, &m.block.All[max(narrowest, 0)], visit)
		return
	}
	for i := range m.block.Any {
		more := true
		set.candidates(work, &m.block.Any[i], func(r *Resource) bool { more = visit(r); return more })
		if !more || work.Spent() {
			return
		}
	}
}

func (m legacyMatcher) takes(work *wildcard.Meter, r *Resource) (bool, Assumptions) {
	if !m.block.takes(work, r) {
		return false, 0
	}
	var assumed Assumptions
	if m.conditional {
		assumed |= assumedConditions
	}
	if m.Made() {
		assumed |= assumedMade
	}
	_, inNamespace := r.inNamespace()
	for _, f := range m.block.filters() {
		if f.Users {
			assumed |= assumedSender
		}
		if !inNamespace && (len(f.Namespaces) > 0 || f.NamespaceSelector != nil) {
			assumed |= assumedNamespace
		}
		if f.NamespaceSelector != nil && r.Home != nil && !r.Home.Written {
			assumed |= assumedNamespaceLabels
		}
	}
	return true, assumed
}

func (m legacyMatcher) Made() bool {
	return slices.ContainsFunc(m.block.filters(), func(f Filter) bool {
		return slices.ContainsFunc(f.Kinds, func(k kyverno.KindSelector) bool { return slices.Contains(manifest.MadeKinds, k.Kind) })
	})
}

// Each calls visit once with every resource that an exception exempts, until it returns false. cut
// means that there may be more.
func Each(set *Resources, m Matcher, visit func(exception.Identity, Assumptions) bool) (cut bool) {
	work, met := wildcard.NewMeter(), map[exception.Identity]bool{}
	m.candidates(work, set, func(r *Resource) bool {
		if met[r.Id] {
			return true
		}
		if takes, assuming := m.takes(work, r); takes {
			met[r.Id] = true
			if !visit(r.Id, assuming) {
				return false
			}
		}
		return !work.Spent()
	})
	return work.Spent()
}
