package shape

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/cel-go/common/types"

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
	t := s.trial()
	constant := false
	for i := range conditions {
		c := &conditions[i]
		if c.problem == nil && (t == nil || !t.misses(c)) && s.language.constant(c, conditionVariables()) {
			s.refuse(ReasonMatchesEverything, c.path, fmt.Sprintf("the condition %q is true of every resource", shortened(c.text)), "say what is particular about the resource")
			constant = true
		}
	}
	if t != nil && !constant {
		s.matchesClass(t)
	}
}

// misses reports whether a condition is false of some resource, as most are of
// any.
func (t *trial) misses(c *condition) bool {
	t.facts = t.inClass(class{operation: "CREATE", requester: byUser, scope: namespaced, labelled: withoutLabels}, 0, knownSpecies[namespaced][0])
	return t.exhausted == nil && t.evaluate(c) == types.False
}

func (s *subject) matchesClass(t *trial) {
	var found []class
	// Of unlike kinds first: what is true of those is true of each kind.
	for _, kind := range slices.Concat([]string{""}, t.allKinds()) {
		for c := range classes(kind) {
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

// allKinds are those that the conditions speak of and those that are known.
func (t *trial) allKinds() []string {
	kinds := slices.Clone(t.kinds)
	for _, scope := range allScopes {
		for _, is := range knownSpecies[scope] {
			if !slices.Contains(kinds, is.kind) {
				kinds = append(kinds, is.kind)
			}
		}
	}
	return kinds
}
