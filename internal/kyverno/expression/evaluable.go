package expression

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// evaluable are the functions with results that are never larger than their arguments.
var evaluable = []string{
	operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional, operators.NotStrictlyFalse,
	operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
	operators.In, operators.Index, operators.OptIndex, operators.OptSelect,
	"startsWith", "endsWith", "contains", "matches", "size", "dyn", "hasValue", "or", "orValue", "optional.of", "optional.none", "value", "timestamp", "duration",
}

// Evaluable reports whether an evaluation needs no more memory than the expression and its
// variables, and no more time than its cost. Anybody can write a match condition, and CEL's cost
// does not include the size of values. An expression is not evaluable if it concatenates values,
// builds a list or map with several variable parts, or has a pattern that is not a literal.
func Evaluable(e ast.Expr) bool {
	is := true
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.CallKind:
			call := e.AsCall()
			is = is && slices.Contains(evaluable, call.FunctionName())
			if call.FunctionName() == "matches" {
				is = is && call.Args()[len(call.Args())-1].Kind() == ast.LiteralKind
			}
		case ast.ListKind, ast.MapKind:
			is = is && variable(e) <= 1
		case ast.StructKind:
			is = false
		}
	}))
	return is
}

// variable counts the parts of a list or map that are not constant.
func variable(e ast.Expr) (n int) {
	switch e.Kind() {
	case ast.LiteralKind:
		return 0
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			n += variable(element)
		}
		return n
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			n += variable(entry.AsMapEntry().Key()) + variable(entry.AsMapEntry().Value())
		}
		return n
	case ast.CallKind:
		if e.AsCall().FunctionName() == "dyn" {
			return variable(e.AsCall().Args()[0])
		}
	}
	return 1
}
