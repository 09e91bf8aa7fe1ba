package shape

import (
	"fmt"
	"strings"

	"github.com/polex-dev/polex/pkg/shape/internal/wildcard"
	"github.com/polex-dev/polex/pkg/shape/internal/witness"
)

// reachesByCondition looks at the texts in CEL conditions, and then tries the
// conditions on what guards exceptions. It is no proof: a condition can ask for
// a label that only the guard has. What protects the guard is that its policies
// cannot be named; this catches what is written plainly or made of pieces.
func (s *subject) reachesByCondition() {
	before := len(s.found)
	for _, c := range s.conditions() {
		aboutNamespaces := strings.Contains(strings.ToLower(c.Text), "namespace")
		for _, literal := range c.Literals() {
			if namesException(literal) {
				s.refuse(ReasonReachesGuard, c.path, fmt.Sprintf("the condition speaks of %q: an exception must not exempt exceptions from their checks", literal), "write it about the resources that need it")
				continue
			}
			if !aboutNamespaces || wildcard.In(literal) {
				continue // CEL compares texts as they are
			}
			if guard, found := wildcard.OverlapsAny(literal, s.config.GuardNamespaces); found {
				s.refuse(ReasonReachesGuard, c.path, fmt.Sprintf("the condition speaks of %q, a namespace that the guard lives in (%s)", literal, guard), "write it about the namespaces that need it")
			}
		}
	}
	if t := s.trial(); t != nil && len(s.found) == before {
		s.triedOnGuard(t)
	}
}

// triedOnGuard evaluates the conditions on a PolicyException, and on resources
// of a guard's namespace. They reach it when they are true there and not of an
// otherwise equal resource: of another kind, or of a namespace that nobody
// could have named.
func (s *subject) triedOnGuard(t *witness.Trial) {
	if t.ReachesException() {
		s.refuse(ReasonReachesGuard, s.whereConditions(), "the match conditions are true of a PolicyException: an exception must not exempt exceptions from their checks",
			"write them about the resources that need it")
	}
	for _, pattern := range s.config.GuardNamespaces {
		namespace := strings.NewReplacer("*", "", "?", "x").Replace(pattern)
		if t.ReachesInto(namespace) {
			s.refuse(ReasonReachesGuard, s.whereConditions(), fmt.Sprintf("the match conditions are true in %q, a namespace that the guard lives in (%s)", namespace, pattern),
				"write them about the namespaces that need it")
		} else if t.ReachesNamespace(namespace) {
			s.refuse(ReasonReachesGuard, s.whereConditions(), fmt.Sprintf("the match conditions are true of the Namespace %q, which the guard lives in (%s)", namespace, pattern),
				"say which kind they are about too")
		}
	}
}
