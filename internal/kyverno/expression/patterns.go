package expression

import (
	"fmt"
	"regexp/syntax"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

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
