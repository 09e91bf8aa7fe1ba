package shape

import (
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/draft"
)

// ReasonMatchesEverything is a reason of findings.
const ReasonMatchesEverything = "matches-everything"

var matchesEverythingCheck = check{
	Title: "Matches everything",
	About: `Finds a kyverno.io exception whose match does not narrow down what is exempt. Each filter of
match.any, and those of match.all taken together, must say kinds, and names, namespaces or
labels besides. What does not count, because it narrows nothing or can be put on by whoever
wants to be exempt: a pattern that fits anything, an empty selector, a selector that only
asks for labels to be absent, annotations, operations (Kyverno does not look at them in an
exception), and who sent the request.`,
	Reasons: []Reason{
		{ReasonMatchesEverything, "the exception does not say which resources it is for", false},
	},
	Run: (*subject).matchesEverything,
}

func (s *subject) matchesEverything(time.Time) {
	if s.Exc.Identity.Group != exception.KyvernoGroup {
		return
	}
	anyOf, allOf := s.Filters("any"), s.Filters("all")
	if len(anyOf) == 0 && len(allOf) == 0 {
		s.refuse(ReasonMatchesEverything, exception.Path{"spec", "match"}, "the match does not say which resources are exempt", matchHint)
		return
	}
	for _, f := range anyOf {
		s.narrowed(f.Path, []draft.Filter{f})
	}
	for _, f := range allOf {
		if len(f.Resources) == 0 {
			s.refuse(ReasonMatchesEverything, f.Path, "the filter says nothing about resources", matchHint)
			return
		}
	}
	if len(allOf) > 0 {
		s.narrowed(exception.Path{"spec", "match", "all"}, allOf)
	}
}

const matchHint = "say kinds, and names or namespaces, of the resources that need it"

// narrowed looks at filters that must all match.
func (s *subject) narrowed(path exception.Path, filters []draft.Filter) {
	var kinds, rest bool
	for _, f := range filters {
		kinds = kinds || restrictsKinds(f.Kinds)
		rest = rest || restricts(f.Names) || restricts(f.Namespaces) ||
			selects(f.Resources["selector"]) || selects(f.Resources["namespaceSelector"]) && !coversNamespaces(f)
	}
	switch {
	case !kinds && !rest:
		s.refuse(ReasonMatchesEverything, path, "the match narrows down neither the kind nor the name, namespace or labels of what is exempt", matchHint)
	case !kinds:
		s.refuse(ReasonMatchesEverything, path, "the match takes resources of any kind", "list the kinds: Deployment, apps/v1/Deployment")
	case !rest:
		s.refuse(ReasonMatchesEverything, path, "the match takes every resource of its kinds", "say names, namespaces or a selector too")
	}
}

// restricts reports whether a list of patterns, of which any may match, leaves
// something out.
func restricts(patterns []draft.Located) bool {
	for _, p := range patterns {
		if wildcard.Only(p.Text) {
			return false
		}
	}
	return len(patterns) > 0
}

func restrictsKinds(kinds []draft.Located) bool {
	for _, k := range kinds {
		if wildcard.Only(kyverno.ParseKind(k.Text).Kind) {
			return false
		}
	}
	return len(kinds) > 0
}

// coversNamespaces reports whether the filter takes objects of kind Namespace,
// for which Kyverno skips the namespaceSelector.
func coversNamespaces(f draft.Filter) bool {
	for _, k := range f.Kinds {
		if kyverno.ParseKind(k.Text).Covers("Namespace", "") {
			return true
		}
	}
	return len(f.Kinds) == 0
}

// selects reports whether a label selector asks for a label to be present.
func selects(value any) bool {
	selector, _ := value.(map[string]any)
	labels, _ := selector["matchLabels"].(map[string]any)
	for key := range labels {
		if !wildcard.Only(key) {
			return true
		}
	}
	expressions, _ := selector["matchExpressions"].([]any)
	for _, item := range expressions {
		expression, _ := item.(map[string]any)
		if operator := expression["operator"]; operator == "In" || operator == "Exists" {
			return true
		}
	}
	return false
}
