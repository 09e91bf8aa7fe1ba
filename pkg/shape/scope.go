package shape

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Reasons of findings.
const (
	reasonWrongNamespace    = "wrong-namespace"
	reasonTooManyPolicies   = "too-many-policies"
	reasonMissingNames      = "missing-names"
	reasonMissingNamespaces = "missing-namespaces"
	reasonMissingSubjects   = "missing-subjects"
)

var scopeCheck = check{
	Title: "Scope",
	About: "Finds an exception that is wider than `shape` allows. Its namespace is not in `namespaces`, it names " +
		"more policies than `maxPolicies`, or a filter does not list the names, namespaces or subjects that " +
		"`requireInMatch` requires.\n\n" +
		"`requireInMatch` does not cover the match conditions of policies.kyverno.io: " +
		"[write a policy](../how-to/validate.md#rules-of-your-own). A filter needs no namespaces " +
		"if all its kinds are written with their group (`rbac.authorization.k8s.io/v1/ClusterRole`), and are " +
		"cluster-scoped kinds of Kubernetes or of `clusterScoped`.",
	Reasons: []Reason{
		{Name: reasonWrongNamespace, Doc: "exceptions are not allowed in this namespace"},
		{Name: reasonTooManyPolicies, Doc: "the exception names too many policies"},
		{Name: reasonMissingNames, Doc: "a filter lists no names"},
		{Name: reasonMissingNamespaces, Doc: "a filter lists no namespaces"},
		{Name: reasonMissingSubjects, Doc: "a filter lists no subjects, roles or clusterRoles"},
	},
	Run: (*subject).scope,
}

func (s *subject) scope() {
	allowed := s.config.Namespaces
	if len(allowed) > 0 && !wildcard.Names(allowed).Include(s.Stated.Identity.Namespace) {
		s.find(reasonWrongNamespace, exception.Path{"metadata", "namespace"},
			fmt.Sprintf("exceptions are not allowed in the namespace %q (shape.namespaces)",
				s.Stated.Identity.Namespace),
			"write metadata.namespace: "+strings.Join(allowed, " or "))
	}
	if most := *s.config.MaxPolicies; most > 0 && len(s.Refs) > most {
		s.find(reasonTooManyPolicies, s.Refs[most].Path,
			fmt.Sprintf("the exception names %d policies, and the maximum is %d (shape.maxPolicies)",
				len(s.Refs), most),
			"write one exception for each policy")
	}
	required := func(field string) bool { return slices.Contains(s.config.RequireInMatch, field) }
	for _, f := range s.Match.Filters() {
		at := f.Path.With("resources")
		if required("names") && !restricts(f.Named()) {
			s.find(reasonMissingNames, at, "the filter does not restrict names (shape.requireInMatch)",
				"list names, e.g. names: [web]")
		}
		if required("namespaces") && !restricts(f.Namespaces) && !s.inNoNamespace(f) {
			s.find(reasonMissingNamespaces, at, "the filter does not restrict namespaces (shape.requireInMatch)",
				namespaceHint(f))
		}
		if required("subjects") && !f.OfSenders() {
			s.find(reasonMissingSubjects, f.Path,
				"the filter lists no subjects, roles or clusterRoles (shape.requireInMatch)", "add one of the three")
		}
	}
}

// inNoNamespace reports whether all kinds of a filter are known to be in no namespace. A Namespace
// counts as in itself.
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
