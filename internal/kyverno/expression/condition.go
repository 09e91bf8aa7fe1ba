package expression

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
)

// Condition is a compiled match condition.
type Condition struct {
	Text    string
	Checked *ast.AST // nil if it does not compile
	Problem error    // the error of compiling it
	// EndsInComment means that the text ends in a comment. Kyverno copies each condition between
	// "!(" and ")" into a generated admission policy (pkg/admissionpolicy/builder.go of 1.19.1),
	// and the comment would hide the parenthesis. Any other condition that compiles keeps its
	// meaning.
	EndsInComment bool
}

// Compile compiles a condition within the budget.
func (l *Language) Compile(text string, work *Compiling) *Condition {
	c := &Condition{Text: text}
	c.Checked, c.Problem = l.Predicate(text, work)
	c.EndsInComment = c.Problem == nil && l.endsInComment(text)
	return c
}

// endsInComment reports whether a valid expression ends in a comment: only then does it parse with
// an extra parenthesis at its end.
func (l *Language) endsInComment(text string) bool {
	if line := text[strings.LastIndex(text, "\n")+1:]; !strings.Contains(line, "//") {
		return false
	}
	_, issues := l.env.Parse(text + ")")
	return issues.Err() == nil
}

// Literals returns the text literals of a condition.
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

// Mentions reports whether an expression contains one of the variables.
func Mentions(checked *ast.AST, variables []string) bool {
	found := false
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		found = found || e.Kind() == ast.IdentKind && slices.Contains(variables, e.AsIdent())
	}))
	return found
}
