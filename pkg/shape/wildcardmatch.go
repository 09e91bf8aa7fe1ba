package shape

import (
	"fmt"
	"slices"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

const reasonWildcardMatch = "wildcard-match"

var wildcardMatchCheck = check{
	About: "Finds a part of a narrow filter that looks like a restriction and restricts nothing: a name or namespace " +
		"that matches everything, or a selector that requires no label to be present. If a later change removes " +
		"the real restriction, the filter still looks narrow.",
	Reasons: []Reason{{Name: reasonWildcardMatch, Doc: "a name, a namespace or a selector restricts nothing"}},
	Run:     (*subject).wildcardMatch,
}

func (s *subject) wildcardMatch() {
	for _, f := range s.Match.Filters() {
		if slices.ContainsFunc([]string{ReasonMatchesEverything, ReasonOpenMatch, ReasonMissingKinds},
			func(reason string) bool { return s.isFound(reason, f.Path) }) {
			continue // reported already, for the whole filter
		}
		for _, what := range []struct {
			noun     string
			patterns []kyverno.Located
		}{{"name", f.Named()}, {"namespace", f.Namespaces}} {
			for _, p := range what.patterns {
				if wildcard.Only(p.Text) {
					s.find(reasonWildcardMatch, p.Path, fmt.Sprintf("%q matches every %s", p.Text, what.noun),
						"list the "+what.noun+"s, or remove the list")
				}
			}
		}
		for _, selector := range []*kyverno.Selector{f.Selector, f.NamespaceSelector} {
			if selector != nil && !selector.Selects() && !s.isFound(ReasonBadSelector, selector.Path) {
				s.find(reasonWildcardMatch, selector.Path, fmt.Sprintf("the %s requires no label to be present",
					selector.Path[len(selector.Path)-1]), "require a label, or remove the selector")
			}
		}
	}
}

// isFound reports whether there is a finding of a reason at a path, above it or below.
func (s *subject) isFound(reason string, path exception.Path) bool {
	return slices.ContainsFunc(s.found, func(f Finding) bool {
		n := min(len(f.Path), len(path))
		return f.Reason == reason && f.Path[:n].String() == path[:n].String()
	})
}
