package shape

import "github.com/google/cel-go/common/ast"

// condition is a match condition, compiled.
type condition struct {
	text    string
	checked *ast.AST // nil when it does not compile
	program *program // nil when it does not compile
	problem error    // why it does not
}

// compile compiles a condition, as long as there is work left.
func (l *language) compile(text string, work *compiling) *condition {
	c := &condition{text: text}
	if c.checked, c.problem = l.predicate(text, work); c.problem == nil {
		c.program, c.problem = l.plan(c.checked)
	}
	return c
}

// literals returns the texts that a condition is written with.
func (c *condition) literals() []string {
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
