package shape

import (
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/witness"
)

// trial returns the trial of the exception's conditions, which several checks
// share, or nil when they cannot be tried.
func (s *subject) trial() *witness.Trial {
	if s.tried == nil {
		s.tried = witness.New(compiledOf(s.conditions()))
	}
	return s.tried
}

// costlyExpression finds a condition that is too costly to be tried, which is
// no condition that a request should wait for. It comes after the checks that
// try conditions.
func (s *subject) costlyExpression(time.Time) {
	if s.Exc.Identity.Group != exception.PoliciesGroup {
		return
	}
	if t := s.trial(); t != nil && t.Exhausted != nil {
		s.refuse(ReasonBadExpression, s.whereCondition(t.Exhausted), "evaluating the condition on a small resource costs too much", "ask for less: compare fields with texts")
	}
}
