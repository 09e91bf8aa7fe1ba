package expression

import (
	"fmt"
	"regexp/syntax"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// A pattern of a few characters can be of any size: (x{100}){10} is compiled to a
// thousand x. So its size is told before it is compiled, and what it is compiled
// and matched for depends on that.

// maxPatternSize is the size of all patterns of an expression together. A name as
// Kubernetes wants it, ([-a-z0-9]{0,61}[a-z0-9])?, is of about a hundred.
const maxPatternSize = 10_000

// patternSize is about how many instructions a pattern is compiled to. One that
// does not compile has none.
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

// checkPatterns refuses an expression whose constant patterns are too large to be
// compiled.
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
