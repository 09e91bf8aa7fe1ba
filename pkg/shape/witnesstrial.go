package shape

import (
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"github.com/polex-dev/polex/pkg/exception"
)

// trial tries the conditions of an exception on resources. Conditions are
// joined by "and"; one that cannot be evaluated on a resource is not true of
// it, as for Kyverno, where it is an error.
type trial struct {
	conditions []condition
	*names
	known     map[string][]specimen // by scope
	asked     []request             // see requests
	left      int                   // steps that may still be taken
	exhausted *condition
}

// trialSteps bounds what all evaluations for one exception may cost together.
// It leaves room for a list of names as long as a condition can be.
const trialSteps = 10_000_000

// newTrial returns nil when there is nothing to try.
func newTrial(conditions []condition) *trial {
	for _, c := range conditions {
		if c.problem != nil {
			return nil
		}
	}
	if len(conditions) == 0 {
		return nil
	}
	known := map[string][]specimen{}
	for _, scope := range allScopes {
		known[scope] = wellKnown(scope)
	}
	return &trial{conditions: conditions, names: newNames(conditions), known: known, left: trialSteps}
}

// holds reports whether all conditions are true of a request about a resource.
func (t *trial) holds(r specimen, q request) bool {
	var variables cel.Activation = situation{r, q}
	for i, c := range t.conditions {
		if t.exhausted != nil {
			return false
		}
		value, taken, err := c.program.eval(variables)
		if t.left -= taken; tooCostly(err) || t.left < 0 {
			t.exhausted = &t.conditions[i]
			return false
		}
		if err != nil || value != types.True {
			return false
		}
	}
	return true
}

// trial returns the trial of the exception's conditions, which several checks
// share, or nil when they cannot be tried.
func (s *subject) trial() *trial {
	if s.tried == nil {
		s.tried = newTrial(s.conditions())
	}
	return s.tried
}

// costlyExpression finds a condition that is too costly to be tried, which is
// no condition that a request should wait for. It comes after the checks that
// try conditions.
func (s *subject) costlyExpression(time.Time) {
	if s.exc.Identity.Group != exception.PoliciesGroup {
		return
	}
	if t := s.trial(); t != nil && t.exhausted != nil {
		s.refuse(ReasonBadExpression, t.exhausted.path, "evaluating the condition on a small resource costs too much", "ask for less: compare fields with texts")
	}
}

// where is the place to speak of all conditions.
func (t *trial) where() exception.Path {
	if len(t.conditions) == 1 {
		return t.conditions[0].path
	}
	return exception.Path{"spec", "matchConditions"}
}
