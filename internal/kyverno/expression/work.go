package expression

import (
	"errors"
	"fmt"
	"regexp/syntax"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// CEL's checker copies type parameters repeatedly. Its time is the number of parts of an expression
// times the number of parts with type parameters. Ten thousand characters can take seconds. Macros
// that repeat their operand, such as x.optMap(y, y).optMap(y, y), can take hours. So the work is
// computed before the check.

// NewMeter returns the work for all conditions of an exception. It is sufficient for 600
// comparisons in one expression, or a dozen of the longest expressions.
func NewMeter() *wildcard.Meter { return &wildcard.Meter{Left: 2_500_000} }

// parsingCharacter is the work to parse one character.
const parsingCharacter = 20

var errWork = errors.New("together with the text before it, it is too long to compile")

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

// A short pattern can be very large: (x{100}){10} compiles to a thousand x. The size determines the
// time to compile and match it. So the size is computed before the pattern is compiled.

// maxPatternSize limits the total size of the patterns of an expression. The Kubernetes pattern for
// a name, ([-a-z0-9]{0,61}[a-z0-9])?, has a size of about one hundred.
const maxPatternSize = 10_000

// patternSize estimates the number of instructions of a compiled pattern. It is 0 for an invalid
// pattern.
func patternSize(text string) int {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0
	}
	return expandedSize(parsed)
}

func expandedSize(e *syntax.Regexp) int {
	n := 1
	if e.Op == syntax.OpLiteral {
		n = len(e.Rune)
	}
	for _, part := range e.Sub {
		n += expandedSize(part)
	}
	if e.Op == syntax.OpRepeat {
		n *= max(e.Min, e.Max, 1)
	}
	return n
}

// checkPatterns rejects an expression with constant patterns that are too large.
func checkPatterns(e ast.Expr) error {
	total := 0
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		switch call := e.AsCall(); call.FunctionName() {
		case "matches", "find", "findAll":
			for _, arg := range call.Args() {
				if arg.Kind() != ast.LiteralKind {
					continue
				}
				if text, ok := arg.AsLiteral().(types.String); ok {
					total += patternSize(string(text))
				}
			}
		}
	}))
	if total > maxPatternSize {
		return fmt.Errorf("its patterns have size %d with repetitions; at most %d is allowed", total, maxPatternSize)
	}
	return nil
}
