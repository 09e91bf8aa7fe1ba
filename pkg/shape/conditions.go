package shape

import (
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/draft"
	"github.com/polex-dev/polex/pkg/shape/internal/expression"
)

// matchCondition is one match condition of a policies.kyverno.io exception.
type matchCondition struct {
	*expression.Condition
	path exception.Path
}

// maxConditions is Kubernetes' own bound.
const maxConditions = 64

// conditions returns the match conditions of a policies.kyverno.io exception,
// compiled. Those beyond the bound are left out; badExpression tells of them.
func (s *subject) conditions() []matchCondition {
	if s.compiled != nil || s.Exc.Identity.Group != exception.PoliciesGroup {
		return s.compiled
	}
	work := expression.NewCompiling()
	for _, at := range s.expressions() {
		s.compiled = append(s.compiled, matchCondition{s.language.Compile(at.Text, work), at.Path})
	}
	return s.compiled
}

// expressions returns the match conditions as they are written.
func (s *subject) expressions() []draft.Located {
	items, _ := s.Spec()["matchConditions"].([]any)
	var found []draft.Located
	for i, item := range items[:min(len(items), maxConditions)] {
		tree, _ := item.(map[string]any)
		if text, ok := tree["expression"].(string); ok {
			found = append(found, draft.Located{Text: text, Path: exception.Path{"spec", "matchConditions", i, "expression"}})
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
	return exception.Path{"spec", "matchConditions"}
}
