package shape

import (
	"fmt"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/expression"
)

// conditionsMatchEverything finds a policies.kyverno.io exception that does not
// narrow down what is exempt: it has no match conditions, one of them is true
// whatever the resource, or all of them together are true of every resource of
// a class (see class), such as everything outside of one namespace, everything
// that is created, every Deployment. Conditions are joined by "and", so a
// constant one is there to look like a restriction.
func (s *subject) conditionsMatchEverything(time.Time) {
	if s.Exc.Identity.Group != exception.PoliciesGroup {
		return
	}
	path := exception.Path{"spec", "matchConditions"}
	conditions := s.conditions()
	if len(conditions) == 0 {
		s.refuse(ReasonMatchesEverything, path, "without match conditions the exception is for every resource of its policies",
			`add a condition such as object.metadata.namespace == "team-a" && object.metadata.name == "web"`)
		return
	}
	t := s.trial()
	constant := false
	for _, c := range conditions {
		if c.Problem == nil && (t == nil || !t.Misses(c.Condition)) && s.language.Constant(c.Condition, expression.Variables()) {
			s.refuse(ReasonMatchesEverything, c.path, fmt.Sprintf("the condition %q is true of every resource", expression.Shortened(c.Text)), "say what is particular about the resource")
			constant = true
		}
	}
	if t == nil || constant {
		return
	}
	if every := t.Every(); every != "" {
		s.refuse(ReasonMatchesEverything, s.whereConditions(), "the match conditions are true of every "+every,
			"say what is particular about the resource: its name, its namespace, a label")
	}
}
