package shape

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// constant reports whether an expression is true whatever its variables are. It
// first puts true or false for what compares something with itself, and then
// lets CEL evaluate with every variable unknown, which knows that
// "true || object.x" needs no object.
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
	return err == nil && value == types.True
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

func same(a, b ast.Expr) bool { return shape(a) == shape(b) }

// opposite is the shape of what is true where e is not.
func opposite(e ast.Expr) string {
	if e.Kind() == ast.CallKind {
		call := e.AsCall()
		for operator, other := range map[string]string{
			operators.Equals: operators.NotEquals, operators.NotEquals: operators.Equals,
			operators.Less: operators.GreaterEquals, operators.GreaterEquals: operators.Less,
			operators.Greater: operators.LessEquals, operators.LessEquals: operators.Greater,
		} {
			if call.FunctionName() == operator {
				return callShape(other, call)
			}
		}
		if call.FunctionName() == operators.LogicalNot {
			return shape(call.Args()[0])
		}
	}
	return operators.LogicalNot + "(" + shape(e) + ")"
}

// shape writes an expression so that two that are written alike, white space
// and quotes aside, are equal texts.
func shape(e ast.Expr) string {
	var b strings.Builder
	switch e.Kind() {
	case ast.LiteralKind:
		fmt.Fprintf(&b, "%s:%q", e.AsLiteral().Type().TypeName(), fmt.Sprint(e.AsLiteral().Value()))
	case ast.IdentKind:
		b.WriteString(e.AsIdent())
	case ast.SelectKind:
		selected := e.AsSelect()
		fmt.Fprintf(&b, "%s.%s?%t", shape(selected.Operand()), selected.FieldName(), selected.IsTestOnly())
	case ast.CallKind:
		return callShape(e.AsCall().FunctionName(), e.AsCall())
	case ast.ListKind:
		b.WriteString("[")
		for _, element := range e.AsList().Elements() {
			b.WriteString(shape(element) + ",")
		}
		fmt.Fprint(&b, "]", e.AsList().OptionalIndices())
	default:
		// Maps, structures and loops are compared with nothing but themselves.
		fmt.Fprintf(&b, "#%d", e.ID())
	}
	return b.String()
}

func callShape(function string, call ast.CallExpr) string {
	var b strings.Builder
	if call.IsMemberFunction() {
		b.WriteString(shape(call.Target()) + ".")
	}
	b.WriteString(function + "(")
	for _, arg := range call.Args() {
		b.WriteString(shape(arg) + ",")
	}
	b.WriteString(")")
	return b.String()
}
