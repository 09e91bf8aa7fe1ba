package shape

import (
	"slices"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// ReasonMatchesEverything is a reason of findings.
const ReasonMatchesEverything = "matches-everything"

var matchesEverythingCheck = check{
	About: `Finds a kyverno.io exception whose match does not narrow down what is exempt. Each filter of
match.any, and those of match.all taken together, must say kinds, and names, namespaces or
labels besides. What does not count, because it narrows nothing or can be put on by whoever
wants to be exempt: a pattern that fits anything, an empty selector, a selector that only
asks for labels to be absent, annotations, operations (Kyverno does not look at them in an
exception), and who sent the request.`,
	Reasons: []Reason{{Name: ReasonMatchesEverything, Doc: "the exception does not say which resources it is for"}},
	Run:     (*subject).matchesEverything,
}

func (s *subject) matchesEverything() {
	if !s.ByMatch {
		return
	}
	anyOf, allOf := s.Match.Any, s.Match.All
	if len(anyOf) == 0 && len(allOf) == 0 {
		s.find(ReasonMatchesEverything, s.ScopePath, "the match does not say which resources are exempt", matchHint)
		return
	}
	for _, f := range anyOf {
		s.narrowed(f.Path, []kyverno.Filter{f})
	}
	for _, f := range allOf {
		if !f.HasResources {
			s.find(ReasonMatchesEverything, f.Path, "the filter says nothing about resources", matchHint)
			return
		}
	}
	if len(allOf) > 0 {
		s.narrowed(exception.Path{"spec", "match", "all"}, allOf)
	}
}

const matchHint = "say kinds, and names or namespaces, of the resources that need it"

// narrowed looks at filters that must all match.
func (s *subject) narrowed(path exception.Path, filters []kyverno.Filter) {
	var kinds, rest bool
	for _, f := range filters {
		kinds = kinds || restrictsKinds(f.Kinds)
		rest = rest || restricts(f.Named()) || restricts(f.Namespaces) ||
			selects(f.Selector) || selects(f.NamespaceSelector) && !f.CoversNamespaces()
	}
	switch {
	case !kinds && !rest:
		s.find(ReasonMatchesEverything, path, "the match narrows down neither the kind nor the name, namespace or labels of what is exempt", matchHint)
	case !kinds:
		s.find(ReasonMatchesEverything, path, "the match takes resources of any kind", "list the kinds: Deployment, apps/v1/Deployment")
	case !rest:
		s.find(ReasonMatchesEverything, path, "the match takes every resource of its kinds", "say names, namespaces or a selector too")
	}
}

// restricts reports whether a list of patterns, of which any may match, leaves
// something out.
func restricts(patterns []kyverno.Located) bool {
	for _, p := range patterns {
		if wildcard.Only(p.Text) {
			return false
		}
	}
	return len(patterns) > 0
}

func restrictsKinds(kinds []kyverno.Located) bool {
	for _, k := range kinds {
		if wildcard.Only(kyverno.ParseKind(k.Text).Kind) {
			return false
		}
	}
	return len(kinds) > 0
}

// selects reports whether a label selector asks for a label to be present.
func selects(s *kyverno.Selector) bool {
	if s == nil {
		return false
	}
	for key := range s.Labels {
		if !wildcard.Only(key) {
			return true
		}
	}
	return slices.ContainsFunc(s.Expressions, func(e kyverno.SelectorExpression) bool { return e.Operator == "In" || e.Operator == "Exists" })
}
