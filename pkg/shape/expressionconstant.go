package shape

import (
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// constant reports whether an expression is true whatever its variables are. It
// first puts true or false for what compares something with itself, and then
// lets CEL evaluate with every variable unknown, which knows that
// "true || object.x" needs no object. An expression that names no variable at
// all says nothing of the resource; unless it is plainly false, it counts as
// true, for it may call what is not evaluated here.
func (l *language) constant(checked *ast.AST, variables []string) bool {
	folded := ast.Copy(checked)
	ast.PostOrderVisit(folded.Expr(), ast.NewExprVisitor(fold))
	program, err := l.plan(folded, cel.EvalOptions(cel.OptPartialEval, cel.OptTrackCost))
	if err != nil {
		return false
	}
	unknown := make([]*cel.AttributePatternType, 0, len(variables))
	for _, name := range variables {
		unknown = append(unknown, cel.AttributePattern(name))
	}
	activation, err := cel.PartialVars(map[string]any{}, unknown...)
	if err != nil {
		return false
	}
	value, _, err := program.Eval(activation)
	if err != nil {
		return !mentions(checked, variables)
	}
	return value == types.True
}

func mentions(checked *ast.AST, variables []string) bool {
	found := false
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		found = found || e.Kind() == ast.IdentKind && slices.Contains(variables, e.AsIdent())
	}))
	return found
}

// fold replaces a call whose value follows from its shape.
func fold(e ast.Expr) {
	if e.Kind() != ast.CallKind {
		return
	}
	call := e.AsCall()
	args := call.Args()
	literal := func(b bool) { e.SetKindCase(ast.NewExprFactory().NewLiteral(e.ID(), types.Bool(b))) }
	switch call.FunctionName() {
	case operators.Equals, operators.LessEquals, operators.GreaterEquals:
		if same(args[0], args[1]) {
			literal(true)
		}
	case operators.NotEquals, operators.Less, operators.Greater:
		if same(args[0], args[1]) {
			literal(false)
		}
	case operators.In:
		if args[1].Kind() == ast.ListKind {
			for _, element := range args[1].AsList().Elements() {
				if same(args[0], element) {
					literal(true)
					return
				}
			}
		}
	case operators.Conditional:
		if same(args[1], args[2]) {
			e.SetKindCase(args[1])
		}
	case operators.LogicalOr, operators.LogicalAnd:
		if complementary(operands(e, call.FunctionName())) {
			literal(call.FunctionName() == operators.LogicalOr)
		}
	}
}

// operands flattens a && b && c.
func operands(e ast.Expr, operator string) []ast.Expr {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operator {
		return []ast.Expr{e}
	}
	var found []ast.Expr
	for _, arg := range e.AsCall().Args() {
		found = append(found, operands(arg, operator)...)
	}
	return found
}

// complementary reports whether one of several expressions is another's
// opposite: a || !a.
func complementary(all []ast.Expr) bool {
	seen := map[string]bool{}
	for _, e := range all {
		seen[shape(e)] = true
	}
	for _, e := range all {
		if seen[opposite(e)] {
			return true
		}
	}
	return false
}
