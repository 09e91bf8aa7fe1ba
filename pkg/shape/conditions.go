package shape

import (
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/expression"
	"github.com/polex-dev/polex/pkg/exception"
)

// matchCondition is one match condition of a policies.kyverno.io exception.
type matchCondition struct {
	*expression.Condition
	path exception.Path
}

// conditions returns the compiled match conditions of a policies.kyverno.io exception, up to the
// maximum number. badExpression reports the others.
func (s *subject) conditions() []matchCondition {
	if s.compiled != nil {
		return s.compiled
	}
	work := expression.NewMeter()
	for _, c := range expressions(s.Exception) {
		s.compiled = append(s.compiled, matchCondition{s.language.Compile(c.Text, work), c.Path})
	}
	return s.compiled
}

// expressions returns the text of the match conditions that Kubernetes accepts.
func expressions(e *kyverno.Exception) []kyverno.Located {
	var found []kyverno.Located
	for _, c := range e.Conditions[:min(len(e.Conditions), kyverno.MaxConditions)] {
		if c.IsText {
			found = append(found, c.Expression)
		}
	}
	return found
}

// whereConditions returns the path for a finding about all conditions.
func (s *subject) whereConditions() exception.Path {
	if len(s.compiled) == 1 {
		return s.compiled[0].path
	}
	return s.ScopePath
}
