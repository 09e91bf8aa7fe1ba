package expression

import (
	"slices"

	"github.com/google/cel-go/common/ast"
)

// Condition is a match condition, compiled.
type Condition struct {
	Text    string
	Checked *ast.AST // nil when it does not compile
	Problem error    // why it does not
}

// Compile compiles a condition, as long as there is work left.
func (l *Language) Compile(text string, work *Compiling) *Condition {
	c := &Condition{Text: text}
	c.Checked, c.Problem = l.Predicate(text, work)
	return c
}

// Literals returns the texts that a condition is written with.
func (c *Condition) Literals() []string {
	if c.Checked == nil {
		return nil
	}
	var found []string
	ast.PreOrderVisit(c.Checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.LiteralKind {
			return
		}
		if text, ok := e.AsLiteral().Value().(string); ok {
			found = append(found, text)
		}
	}))
	return found
}

// Mentions reports whether an expression names one of some variables.
func Mentions(checked *ast.AST, variables []string) bool {
	found := false
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		found = found || e.Kind() == ast.IdentKind && slices.Contains(variables, e.AsIdent())
	}))
	return found
}
