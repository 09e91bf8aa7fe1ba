package shape

import (
	"fmt"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// conditionsMatchEverything finds a policies.kyverno.io exception that does not
// narrow down what is exempt: it has no match conditions, or one of them is true
// whatever the resource. Conditions are joined by "and", so that one is there
// to look like a restriction.
func (s *subject) conditionsMatchEverything(time.Time) {
	if s.exc.Identity.Group != exception.PoliciesGroup {
		return
	}
	path := exception.Path{"spec", "matchConditions"}
	conditions := s.conditions()
	if len(conditions) == 0 {
		s.refuse(ReasonMatchesEverything, path, "without match conditions the exception is for every resource of its policies",
			`add a condition such as object.metadata.namespace == "team-a" && object.metadata.name == "web"`)
		return
	}
	for _, c := range conditions {
		if c.problem == nil && s.language.constant(c.checked, conditionVariables()) {
			s.refuse(ReasonMatchesEverything, c.path, fmt.Sprintf("the condition %q is true of every resource", shortened(c.text)), "say what is particular about the resource")
		}
	}
}
