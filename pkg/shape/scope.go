package shape

import (
	"fmt"
	"strings"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/wildcard"
)

// scope finds an exception that is wider than the configuration asks for: in a
// namespace where exceptions do not belong, from more policies than one
// exception may name, or with a filter that leaves out names, namespaces or
// senders. The conditions of policies.kyverno.io are not read for these three:
// what an expression restricts is for [Config.Rules] to ask.
func (s *subject) scope(time.Time) {
	allowed := s.config.Namespaces
	if _, found := wildcard.OverlapsAny(s.exc.Identity.Namespace, allowed); len(allowed) > 0 && !found {
		s.refuse(ReasonWrongNamespace, exception.Path{"metadata", "namespace"},
			fmt.Sprintf("exceptions do not live in the namespace %q", s.exc.Identity.Namespace), "write "+strings.Join(allowed, " or "))
	}
	if most := s.config.MaxPolicies; most > 0 && len(s.exc.Policies) > most {
		s.refuse(ReasonTooManyPolicies, s.exc.Policies[most].Path,
			fmt.Sprintf("the exception names %d policies, and %d may be named", len(s.exc.Policies), most), "write an exception for each, so that each is decided on its own")
	}
	for _, f := range s.allFilters() {
		at := f.path.With("resources")
		if s.config.RequireNames && !restricts(f.names) {
			s.refuse(ReasonMissingNames, at, "the filter names no resources", "list names, a pattern such as web-* at the widest")
		}
		if s.config.RequireNamespaces && !restricts(f.namespaces) {
			s.refuse(ReasonMissingNamespaces, at, "the filter names no namespaces", "list the namespaces of the resources that need it")
		}
		if s.config.RequireSubjects && !f.namesSenders() {
			s.refuse(ReasonMissingSubjects, f.path, "the filter does not say who sends the request", "list subjects, roles or clusterRoles")
		}
	}
}

// namesSenders reports whether the filter is for requests of some senders only.
func (f filter) namesSenders() bool {
	for _, field := range []string{"subjects", "roles", "clusterRoles"} {
		if items, _ := f.tree[field].([]any); len(items) > 0 {
			return true
		}
	}
	return false
}
