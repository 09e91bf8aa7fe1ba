package expression

import (
	"fmt"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// CEL's checker copies what it knows of type parameters again and again: it takes
// as long as an expression has parts, times those of them that have such
// parameters. Ten thousand characters can keep it busy for seconds, and macros that
// repeat what they are called on, x.optMap(y, y).optMap(y, y), for hours. So what
// checking an expression asks for is told before it is done.

// Compiling is what compiling expressions may still ask for.
type Compiling struct{ left int }

// NewCompiling is for all conditions of an exception. It has room for six hundred
// comparisons in one expression, and for a dozen that are as long as can be.
func NewCompiling() *Compiling { return &Compiling{2_500_000} }

// parsingCharacter is what a character asks for, as long as a part of an expression
// with as many parts of parameters.
const parsingCharacter = 20

func (c *Compiling) take(n int) error {
	if c.left -= n; c.left < 0 {
		return fmt.Errorf("it is too much to compile, with what stands before it")
	}
	return nil
}

// checkingWork is what checking a parsed expression asks for.
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
