package shape

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/schema"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Reasons of findings.
const (
	ReasonMatchesEverything = "matches-everything"
	ReasonMissingKinds      = "missing-kinds"
	ReasonOpenMatch         = "open-match"
	reasonMissingNames      = "missing-names"
	reasonMissingNamespaces = "missing-namespaces"
	reasonMissingSubjects   = "missing-subjects"
	reasonTooManyPolicies   = "too-many-policies"
	reasonWrongNamespace    = "wrong-namespace"
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
	Reasons: []Reason{{Name: ReasonMatchesEverything, Doc: "the exception does not restrict the exempted resources"},
		{Name: ReasonOpenMatch, Doc: "only podSecurity, conditions or the sender restrict the exempted resources"},
		{Name: ReasonMissingKinds, Doc: "a filter lists no kinds, or the match conditions compare only labels"}},
	Run: func(s *subject) {
		if !s.ByMatch || s.isFound(schema.WrongType, s.ScopePath) && len(s.Match.Filters()) == 0 {
			return
		}
		anyOf, allOf := s.Match.Any, s.Match.All
		if len(anyOf) == 0 && len(allOf) == 0 {
			s.find(ReasonMatchesEverything, s.ScopePath, matchHint,
				"the match has no filters, so it does not restrict the resources")
			return
		}
		for _, f := range anyOf {
			s.narrowed(f.Path, []kyverno.Filter{f})
		}
		for _, f := range allOf {
			if !f.HasResources {
				s.find(ReasonMatchesEverything, f.Path, matchHint, "the filter has no resources")
				return
			}
		}
		if len(allOf) > 0 {
			s.narrowed(exception.Path{"spec", "match", "all"}, allOf)
		}
	},
}

const matchHint = "list kinds, and names or namespaces, e.g. kinds: [Deployment], names: [web], namespaces: [team-a]"

// narrowed checks filters that must all match.
func (s *subject) narrowed(path exception.Path, filters []kyverno.Filter) {
	var kinds, listed, rest bool
	reason, by := ReasonMatchesEverything, ""
	if len(s.PodSecurity)+len(s.Preconditions) > 0 ||
		slices.ContainsFunc(filters, func(f kyverno.Filter) bool { return f.OfSenders() }) {
		reason, by = ReasonOpenMatch, "; nothing but podSecurity, conditions or the sender restricts the exception"
	}
	where := ""
	for _, f := range filters {
		listed = listed || len(f.Kinds) > 0
		if restricts(f.Namespaces) && where == "" {
			where = " in namespace " + kyverno.Listed(kyverno.Texts(f.Namespaces))
		}
		kinds = kinds || len(f.Kinds) > 0 && !slices.ContainsFunc(f.Kinds,
			func(k kyverno.Located) bool { return wildcard.Only(kyverno.ParseKind(k.Text).Kind) })
		rest = rest || restricts(f.Named()) || restricts(f.Namespaces) ||
			f.Selector.Selects() || f.NamespaceSelector.Selects() && !f.CoversNamespaces()
	}
	switch {
	case s.isFound(schema.WrongType, path): // rejected already, for the value that cannot be read
	case !kinds && !rest:
		s.find(reason, path,
			matchHint, "the match restricts neither the kinds nor the names, namespaces or labels%s", by)
	case !listed:
		s.find(ReasonMissingKinds, path, "list them, e.g. kinds: [Pod, Deployment]",
			"this filter lists no kinds, so it exempts every kind%s that the policy covers", where)
	case !kinds:
		s.find(reason, path, "list the kinds, e.g. kinds: [Deployment, apps/v1/StatefulSet]",
			"the match selects resources of every kind%s", by)
	case !rest:
		s.find(reason, path, "add names, namespaces or a selector",
			"the match selects every resource of its kinds%s", by)
	}
}

// restricts reports whether a list of patterns, of which any may match, excludes something.
func restricts(patterns []kyverno.Located) bool {
	return len(patterns) > 0 && !slices.ContainsFunc(patterns,
		func(p kyverno.Located) bool { return wildcard.Only(p.Text) })
}

var scopeCheck = check{
	Title: "Scope",
	About: "Finds an exception that is wider than `shape` allows. Its namespace is not in `namespaces`, it names " +
		"more policies than `maxPolicies`, or a filter does not list the names, namespaces or subjects that " +
		"`requireInMatch` requires.\n\n" +
		"`requireInMatch` does not cover the match conditions of policies.kyverno.io: " +
		"[write a policy](../how-to/validate.md#rules-of-your-own). A filter needs no namespaces " +
		"if all its kinds are written with their group (`rbac.authorization.k8s.io/v1/ClusterRole`), and are " +
		"cluster-scoped kinds of Kubernetes or of `clusterScoped`.",
	Reasons: []Reason{{Name: reasonWrongNamespace, Doc: "exceptions are not allowed in this namespace"},
		{Name: reasonTooManyPolicies, Doc: "the exception names too many policies"},
		{Name: reasonMissingNames, Doc: "a filter lists no names"},
		{Name: reasonMissingNamespaces, Doc: "a filter lists no namespaces"},
		{Name: reasonMissingSubjects, Doc: "a filter lists no subjects, roles or clusterRoles"}},
	Run: func(s *subject) {
		allowed := s.config.Namespaces
		if len(allowed) > 0 && !wildcard.Names(allowed).Include(s.Stated.Identity.Namespace) {
			s.find(reasonWrongNamespace, exception.Path{"metadata", "namespace"},
				"write metadata.namespace: "+strings.Join(allowed, " or "),
				"exceptions are not allowed in the namespace %q (shape.namespaces)", s.Stated.Identity.Namespace)
		}
		if most := *s.config.MaxPolicies; most > 0 && len(s.Refs) > most {
			s.find(reasonTooManyPolicies, s.Refs[most].Path, "write one exception for each policy",
				"the exception names %d policies, and the maximum is %d (shape.maxPolicies)", len(s.Refs), most)
		}
		required := func(field string) bool { return slices.Contains(s.config.RequireInMatch, field) }
		for _, f := range s.Match.Filters() {
			at := f.Path.With("resources")
			if required("names") && !restricts(f.Named()) {
				s.find(reasonMissingNames, at, "list names, e.g. names: [web]",
					"the filter does not restrict names (shape.requireInMatch)")
			}
			if required("namespaces") && !restricts(f.Namespaces) && !s.inNoNamespace(f) {
				s.find(reasonMissingNamespaces, at, namespaceHint(f),
					"the filter does not restrict namespaces (shape.requireInMatch)")
			}
			if required("subjects") && !f.OfSenders() {
				s.find(reasonMissingSubjects, f.Path, "add one of the three",
					"the filter lists no subjects, roles or clusterRoles (shape.requireInMatch)")
			}
		}
	},
}

// inNoNamespace reports whether all kinds of a filter are known to be in no namespace. A Namespace counts as in itself.
func (s *subject) inNoNamespace(f kyverno.Filter) bool {
	return len(f.Kinds) > 0 && !slices.ContainsFunc(f.Kinds, func(k kyverno.Located) bool {
		group, kind := exactKind(k)
		return kind == "Namespace" || !slices.Contains(manifest.ClusterScopedKinds[group], kind) &&
			!slices.Contains(s.config.ClusterScoped, kind+"."+group)
	})
}

// exactKind returns the group and kind of an entry of kinds. The group is "*" if it is not written.
func exactKind(text kyverno.Located) (group, kind string) {
	selector := kyverno.ParseKind(text.Text)
	if selector.Group == "*" && selector.Version == "v1" {
		return "", selector.Kind // the form of the group without a name
	}
	return selector.Group, selector.Kind
}

// namespaceHint says how to restrict a filter to namespaces, or to kinds without one.
func namespaceHint(f kyverno.Filter) string {
	for _, k := range f.Kinds {
		group, kind := exactKind(k)
		home := manifest.GroupOfClusterScoped(kind)
		switch {
		case group == "*" && home != "*" && kind != "Namespace":
			return fmt.Sprintf("a %s of Kubernetes is in no namespace: write %s/v1/%s", kind, home, kind)
		case home == "*" && manifest.GroupOf(kind) == "" && !isListed(builtinKinds, kind):
			return fmt.Sprintf("list namespaces; or, if the kind has none, write its group, and %s.GROUP in "+
				"shape.clusterScoped", kind)
		}
	}
	return "list namespaces, e.g. namespaces: [team-a]"
}
