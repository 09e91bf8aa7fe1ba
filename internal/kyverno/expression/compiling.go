package expression

import (
	"fmt"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// CEL's checker copies type parameters repeatedly. Its time is the number of parts of an expression
// times the number of parts with type parameters. Ten thousand characters can take seconds. Macros
// that repeat their operand, such as x.optMap(y, y).optMap(y, y), can take hours. So the work is
// computed before the check.

// Compiling is a budget for the work of compiling expressions.
type Compiling struct{ left int }

// NewCompiling returns the budget for all conditions of an exception. It is sufficient for 600
// comparisons in one expression, or a dozen of the longest expressions.
func NewCompiling() *Compiling { return &Compiling{2_500_000} }

// parsingCharacter is the work to parse one character.
const parsingCharacter = 20

func (c *Compiling) take(n int) error {
	if c.left -= n; c.left < 0 {
		return fmt.Errorf("together with the text before it, it is too long to compile")
	}
	return nil
}

// checkingWork returns the work to check a parsed expression.
func checkingWork(e ast.Expr) int {
	parts, ofParameters := 0, 0
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		parts++
		switch e.Kind() {
		case ast.IdentKind, ast.SelectKind, ast.LiteralKind:
			return
		case ast.CallKind:
			switch e.AsCall().FunctionName() {
			case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot:
				return
			}
		}
		ofParameters++
	}))
	return parts * ofParameters
}
