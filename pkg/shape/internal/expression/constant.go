package expression

import (
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// Constant reports whether a condition is true whatever its variables are. It
// first puts true or false for what compares something with itself, and then
// lets CEL evaluate with every variable unknown, which knows that
// "true || object.x" needs no object. An expression that names no variable at
// all says nothing of the resource; unless it is plainly false, it counts as
// true, for it may call what is not evaluated here.
func (l *Language) Constant(c *Condition, variables []string) bool {
	program := c.Program
	if folded, changed := fold(c.Checked); changed {
		var err error
		if program, err = l.Plan(folded); err != nil {
			return false
		}
	}
	value, _, err := program.Eval(unknowing(variables))
	if err != nil {
		return !Mentions(c.Checked, variables)
	}
	return value == types.True
}

// unknowing gives every variable as unknown. CEL's own patterns for that are not
// used: with them, a loop in a loop takes several times as long for each that it is
// in.
type unknowing []string

// ResolveName returns a variable's value.
func (u unknowing) ResolveName(name string) (any, bool) {
	if i := slices.Index(u, name); i >= 0 {
		return types.NewUnknown(int64(-1-i), types.NewAttributeTrail(name)), true // below the ids of expressions
	}
	return nil, false
}

// Parent returns nil: there are no other variables.
func (u unknowing) Parent() cel.Activation { return nil }

// Mentions reports whether an expression names one of some variables.
func Mentions(checked *ast.AST, variables []string) bool {
	found := false
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		found = found || e.Kind() == ast.IdentKind && slices.Contains(variables, e.AsIdent())
	}))
	return found
}

// fold replaces calls whose value follows from their shape, in a copy.
func fold(checked *ast.AST) (folded *ast.AST, changed bool) {
	folded = ast.Copy(checked)
	ast.PostOrderVisit(folded.Expr(), ast.NewExprVisitor(func(e ast.Expr) { changed = foldOne(e) || changed }))
	return folded, changed
}

func foldOne(e ast.Expr) (changed bool) {
	if e.Kind() != ast.CallKind {
		return false
	}
	call := e.AsCall()
	args := call.Args()
	literal := func(b bool) {
		changed = true
		e.SetKindCase(ast.NewExprFactory().NewLiteral(e.ID(), types.Bool(b)))
	}
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
					break
				}
			}
		}
	case operators.Conditional:
		if same(args[1], args[2]) {
			e.SetKindCase(args[1])
			changed = true
		}
	case operators.LogicalOr, operators.LogicalAnd:
		if complementary(operands(e, call.FunctionName())) {
			literal(call.FunctionName() == operators.LogicalOr)
		}
	}
	return changed
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
