package shape

import (
	"fmt"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// conditionsMatchEverything finds a policies.kyverno.io exception without match
// conditions, which exempts every resource of its policies, and a condition
// that is true of anything. Conditions are joined by "and", so a constant one
// is there to look like a restriction.
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
		if alwaysTrue(c.text) {
			s.refuse(ReasonMatchesEverything, c.path, fmt.Sprintf("the condition %q is true of every resource", c.text), "say what is particular about the resource")
		}
	}
}

// conditions returns the expressions of a policies.kyverno.io exception.
func (s *subject) conditions() []located {
	items, _ := s.spec()["matchConditions"].([]any)
	var found []located
	for i, item := range items {
		condition, _ := item.(map[string]any)
		if text, ok := condition["expression"].(string); ok {
			found = append(found, located{text, exception.Path{"spec", "matchConditions", i, "expression"}})
		}
	}
	return found
}
