package expression

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// same reports whether two expressions are written alike, white space and
// quotes aside.
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
