package expression

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
)

// Condition is a match condition, compiled.
type Condition struct {
	Text    string
	Checked *ast.AST // nil when it does not compile
	Problem error    // why it does not
	// EndsInComment says that nothing can be written behind it. Kyverno writes each condition
	// as it stands between "!(" and ")" where it generates an admission policy
	// (pkg/admissionpolicy/builder.go of 1.19.1), and this one breaks that policy. Whatever
	// else compiles by itself means the same between parentheses.
	EndsInComment bool
}

// Compile compiles a condition, as long as there is work left.
func (l *Language) Compile(text string, work *Compiling) *Condition {
	c := &Condition{Text: text}
	c.Checked, c.Problem = l.Predicate(text, work)
	c.EndsInComment = c.Problem == nil && l.endsInComment(text)
	return c
}

// endsInComment reports whether an expression that can be parsed ends in a comment: only then
// can it be parsed with a parenthesis too many behind it.
func (l *Language) endsInComment(text string) bool {
	if line := text[strings.LastIndex(text, "\n")+1:]; !strings.Contains(line, "//") {
		return false
	}
	_, issues := l.env.Parse(text + ")")
	return issues.Err() == nil
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
