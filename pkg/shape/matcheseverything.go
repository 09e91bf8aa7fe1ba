package shape

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/schema"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Reasons of findings.
const (
	ReasonMatchesEverything = "matches-everything"
	ReasonMissingKinds      = "missing-kinds"
	ReasonOpenMatch         = "open-match"
)

var matchesEverythingCheck = check{
	Title: "Match",
	About: "Finds a kyverno.io exception that does not restrict the exempted resources. Each filter of `match.any`, " +
		"and the filters of `match.all` together, must list kinds, and also names, namespaces or labels. These do " +
		"not count, because they restrict nothing, or because the author of a resource can set them:\n\n" +
		"- a pattern that matches everything;\n" +
		"- an empty selector, or one that only requires labels to be absent;\n" +
		"- annotations, and operations (Kyverno ignores them in an exception).\n\n" +
		"If podSecurity, conditions or the sender of the request restrict an exception that is otherwise open, it is " +
		"`open-match`: polex does not know how much they leave. " +
		"A filter that lists no kinds and is otherwise narrow is `missing-kinds`. So are match conditions that " +
		"compare only labels.",
	Reasons: []Reason{
		{Name: ReasonMatchesEverything, Doc: "the exception does not restrict the exempted resources"},
		{Name: ReasonOpenMatch, Doc: "only podSecurity, conditions or the sender restrict the exempted resources"},
		{Name: ReasonMissingKinds, Doc: "a filter lists no kinds, or the match conditions compare only labels"},
	},
	Run: (*subject).matchesEverything,
}

func (s *subject) matchesEverything() {
	if !s.ByMatch || s.isFound(schema.WrongType, s.ScopePath) && len(s.Match.Filters()) == 0 {
		return
	}
	anyOf, allOf := s.Match.Any, s.Match.All
	if len(anyOf) == 0 && len(allOf) == 0 {
		s.find(ReasonMatchesEverything, s.ScopePath, "the match has no filters, so it does not restrict the resources",
			matchHint)
		return
	}
	for _, f := range anyOf {
		s.narrowed(f.Path, []kyverno.Filter{f})
	}
	for _, f := range allOf {
		if !f.HasResources {
			s.find(ReasonMatchesEverything, f.Path, "the filter has no resources", matchHint)
			return
		}
	}
	if len(allOf) > 0 {
		s.narrowed(exception.Path{"spec", "match", "all"}, allOf)
	}
}

const matchHint = "list kinds, and names or namespaces, e.g. kinds: [Deployment], names: [web], namespaces: [team-a]"

// narrowed checks filters that must all match.
func (s *subject) narrowed(path exception.Path, filters []kyverno.Filter) {
	var kinds, listed, rest bool
	reason, by := ReasonMatchesEverything, s.restrictedBy(filters)
	if by != "" {
		reason, by = ReasonOpenMatch, "; nothing but "+by+" restricts the exception"
	}
	var namespaces []string
	for _, f := range filters {
		listed = listed || len(f.Kinds) > 0
		if restricts(f.Namespaces) && namespaces == nil {
			namespaces = kyverno.Texts(f.Namespaces)
		}
		kinds = kinds || restrictsKinds(f.Kinds)
		rest = rest || restricts(f.Named()) || restricts(f.Namespaces) ||
			f.Selector.Selects() || f.NamespaceSelector.Selects() && !f.CoversNamespaces()
	}
	switch {
	case s.isFound(schema.WrongType, path): // rejected already, for the value that cannot be read
	case !kinds && !rest:
		s.find(reason, path,
			"the match restricts neither the kinds nor the names, namespaces or labels"+by, matchHint)
	case !listed:
		s.find(ReasonMissingKinds, path,
			fmt.Sprintf("this filter lists no kinds, so it exempts every kind%s that the policy covers",
				inNamespaces(namespaces)),
			"list them, e.g. kinds: [Pod, Deployment]")
	case !kinds:
		s.find(reason, path, "the match selects resources of every kind"+by,
			"list the kinds, e.g. kinds: [Deployment, apps/v1/StatefulSet]")
	case !rest:
		s.find(reason, path, "the match selects every resource of its kinds"+by,
			"add names, namespaces or a selector")
	}
}

// restrictedBy names the parts besides resources that restrict an exception, or returns "".
func (s *subject) restrictedBy(filters []kyverno.Filter) string {
	var parts []string
	for _, part := range []struct {
		name string
		is   bool
	}{
		{"podSecurity", len(s.PodSecurity) > 0}, {"conditions", len(s.Preconditions) > 0},
		{"subjects or roles", slices.ContainsFunc(filters, func(f kyverno.Filter) bool { return f.OfSenders() })},
	} {
		if part.is {
			parts = append(parts, part.name)
		}
	}
	return strings.Join(parts, ", ")
}

// inNamespaces returns a part of a sentence, or "".
func inNamespaces(names []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" in namespace %q", names[0])
	}
	return fmt.Sprintf(" in %d namespaces", len(names))
}

// restricts reports whether a list of patterns, of which any may match, excludes something.
func restricts(patterns []kyverno.Located) bool {
	return len(patterns) > 0 && !slices.ContainsFunc(patterns,
		func(p kyverno.Located) bool { return wildcard.Only(p.Text) })
}

func restrictsKinds(kinds []kyverno.Located) bool {
	return len(kinds) > 0 && !slices.ContainsFunc(kinds, func(k kyverno.Located) bool {
		return wildcard.Only(kyverno.ParseKind(k.Text).Kind)
	})
}
