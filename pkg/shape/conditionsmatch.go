package shape

import (
	"fmt"
	"slices"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// conditionsMatchEverything finds a policies.kyverno.io exception that does not
// narrow down what is exempt: it has no match conditions, one of them is true
// whatever the resource, or all of them together are true of every resource of
// a class (see class), such as everything outside of one namespace, everything
// that is created, every Deployment. Conditions are joined by "and", so a
// constant one is there to look like a restriction.
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
	constant := false
	for i := range conditions {
		c := &conditions[i]
		if c.problem == nil && s.language.constant(c, conditionVariables()) {
			s.refuse(ReasonMatchesEverything, c.path, fmt.Sprintf("the condition %q is true of every resource", shortened(c.text)), "say what is particular about the resource")
			constant = true
		}
	}
	if t := s.trial(); t != nil && !constant {
		s.matchesClass(t)
	}
}

func (s *subject) matchesClass(t *trial) {
	kinds, _ := spoken(t.conditions)
	for _, scope := range allScopes {
		for _, r := range t.known[scope] {
			if !slices.Contains(kinds, r.kind) {
				kinds = append(kinds, r.kind)
			}
		}
	}
	var found []class
	// Of unlike kinds first: what is true of those is true of each kind.
	for _, kind := range slices.Concat([]string{""}, kinds) {
		for _, c := range classes(kind) {
			if t.holdsOfAll(c) {
				found = append(found, c)
			}
		}
		if kind == "" && len(found) > 0 {
			break
		}
	}
	if len(found) > 0 && t.exhausted == nil {
		s.refuse(ReasonMatchesEverything, t.where(), "the match conditions are true of every "+describedClasses(found),
			"say what is particular about the resource: its name, its namespace, a label")
	}
}
