package shape

import (
	"fmt"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// ReasonWildcardMatch is a reason of findings.
const ReasonWildcardMatch = "wildcard-match"

var wildcardMatchCheck = check{
	Title: "Wildcard match",
	About: `Finds what looks like a restriction in a filter that is narrow otherwise, and restricts
nothing: a name or namespace that fits any, and a selector that asks for no label to be
present. A later change that takes the real restriction away would leave a match that still
looks narrow.`,
	Reasons: []Reason{
		{Name: ReasonWildcardMatch, Doc: "a name, a namespace or a selector restricts nothing"},
	},
	Run: (*subject).wildcardMatch,
}

func (s *subject) wildcardMatch() {
	for _, f := range s.Match.Filters() {
		if s.isRefused(ReasonMatchesEverything, f.Path) {
			continue // said already, for the whole filter
		}
		for _, what := range []struct {
			noun     string
			patterns []kyverno.Located
		}{{"name", f.Named()}, {"namespace", f.Namespaces}} {
			for _, p := range what.patterns {
				if wildcard.Only(p.Text) {
					s.find(ReasonWildcardMatch, p.Path, fmt.Sprintf("%q fits any %s", p.Text, what.noun), "say which, or leave the list out")
				}
			}
		}
		for _, selector := range []*kyverno.Selector{f.Selector, f.NamespaceSelector} {
			if selector != nil && !selects(selector) && !s.isRefusedBelow(ReasonBadSelector, selector.Path) {
				s.find(ReasonWildcardMatch, selector.Path, fmt.Sprintf("the %s asks for no label to be present", selector.Path[len(selector.Path)-1]), "ask for a label, or leave the selector out")
			}
		}
	}
}

// isRefusedBelow reports whether a finding of a reason stands at a path or below.
func (s *subject) isRefusedBelow(reason string, path exception.Path) bool {
	for _, f := range s.found {
		if f.Reason == reason && len(f.Path) >= len(path) && f.Path[:len(path)].String() == path.String() {
			return true
		}
	}
	return false
}

// isRefused reports whether a finding of a reason stands at a filter, or at
// match.all as a whole.
func (s *subject) isRefused(reason string, filter exception.Path) bool {
	for _, f := range s.found {
		if at := f.Path.String(); f.Reason == reason && (at == filter.String() || at == "spec.match.all") {
			return true
		}
	}
	return false
}
