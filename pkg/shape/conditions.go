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

// conditions returns the match conditions of a policies.kyverno.io exception,
// compiled. Those beyond the bound are left out; badExpression tells of them.
func (s *subject) conditions() []matchCondition {
	if s.compiled != nil {
		return s.compiled
	}
	work := expression.NewCompiling()
	for _, c := range expressions(s.Exception) {
		s.compiled = append(s.compiled, matchCondition{s.language.Compile(c.Text, work), c.Path})
	}
	return s.compiled
}

// expressions returns the match conditions that Kubernetes takes, as they are written.
func expressions(e *kyverno.Exception) []kyverno.Located {
	var found []kyverno.Located
	for _, c := range e.Conditions[:min(len(e.Conditions), kyverno.MaxConditions)] {
		if c.IsText {
			found = append(found, c.Expression)
		}
	}
	return found
}

// compiledOf returns conditions without their places.
func compiledOf(conditions []matchCondition) []*expression.Condition {
	all := make([]*expression.Condition, len(conditions))
	for i, c := range conditions {
		all[i] = c.Condition
	}
	return all
}

// whereConditions is the place to speak of all conditions.
func (s *subject) whereConditions() exception.Path {
	if len(s.compiled) == 1 {
		return s.compiled[0].path
	}
	return s.ScopePath
}
