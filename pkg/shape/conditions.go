package shape

import (
	"github.com/google/cel-go/common/ast"

	"github.com/polex-dev/polex/pkg/exception"
)

// condition is one match condition of a policies.kyverno.io exception.
type condition struct {
	located
	name    string
	checked *ast.AST // nil when it does not compile
	program *program // nil when it does not compile
	problem error    // why it does not
}

// maxConditions is Kubernetes' own bound.
const maxConditions = 64

// conditions returns the match conditions of a policies.kyverno.io exception,
// compiled. Those beyond the bound are left out; badExpression tells of them.
func (s *subject) conditions() []condition {
	if s.compiled != nil || s.exc.Identity.Group != exception.PoliciesGroup {
		return s.compiled
	}
	s.compiled = s.expressions()
	work := newCompiling()
	for i := range s.compiled {
		s.language.compile(&s.compiled[i], work)
	}
	return s.compiled
}

func (l *language) compile(c *condition, work *compiling) {
	if c.checked, c.problem = l.predicate(c.text, work); c.problem == nil {
		c.program, c.problem = l.plan(c.checked)
	}
}

// expressions returns the match conditions as they are written.
func (s *subject) expressions() []condition {
	items, _ := s.spec()["matchConditions"].([]any)
	var found []condition
	for i, item := range items[:min(len(items), maxConditions)] {
		tree, _ := item.(map[string]any)
		text, ok := tree["expression"].(string)
		if !ok {
			continue
		}
		c := condition{located: located{text, exception.Path{"spec", "matchConditions", i, "expression"}}}
		c.name, _ = tree["name"].(string)
		found = append(found, c)
	}
	return found
}

// literals returns the texts that a condition is written with.
func (c condition) literals() []string {
	if c.checked == nil {
		return nil
	}
	var found []string
	ast.PreOrderVisit(c.checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.LiteralKind {
			return
		}
		if text, ok := e.AsLiteral().Value().(string); ok {
			found = append(found, text)
		}
	}))
	return found
}
