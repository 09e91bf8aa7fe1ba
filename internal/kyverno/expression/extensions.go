package expression

import (
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"
)

// The functions that macros call.
const (
	mapInsert  = "cel.@mapInsert"
	sortByKeys = "@sortByAssociatedKeys"
)

// macros returns those of cel-go's package ext: sortBy, and the macros with two variables, an index or
// a key and a value.
func macros() cel.EnvOption {
	all := []cel.Macro{cel.ReceiverMacro("sortBy", 2, sortBy)}
	for _, name := range []string{
		"all", "exists", "existsOne", "exists_one", "transformList", "transformMap", "transformMapEntry",
	} {
		all = append(all, cel.ReceiverMacro(name, 3, twoVariables(name)))
		if strings.HasPrefix(name, "transform") {
			all = append(all, cel.ReceiverMacro(name, 4, twoVariables(name))) // a filter comes before the last argument
		}
	}
	return cel.Macros(all...)
}

func twoVariables(name string) cel.MacroFactory {
	return func(f cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
		if err := checkVariables(f, args[0], args[1]); err != nil {
			return nil, err
		}
		key, last, one := args[0].AsIdent(), args[len(args)-1], f.NewLiteral(types.Int(1))
		begin, result := f.NewMap(), f.NewAccuIdent()
		var step ast.Expr
		switch name {
		case "all":
			begin, step = f.NewLiteral(types.True), f.NewCall(operators.LogicalAnd, f.NewAccuIdent(), last)
		case "exists":
			begin, step = f.NewLiteral(types.False), f.NewCall(operators.LogicalOr, f.NewAccuIdent(), last)
		case "transformList":
			begin, step = f.NewList(), f.NewCall(operators.Add, f.NewAccuIdent(), f.NewList(last))
		case "transformMap":
			step = f.NewCall(mapInsert, f.NewAccuIdent(), f.NewIdent(key), last)
		case "transformMapEntry":
			step = f.NewCall(mapInsert, f.NewAccuIdent(), last)
		default: // existsOne
			more := f.NewCall(operators.Add, f.NewAccuIdent(), one)
			begin, step = f.NewLiteral(types.Int(0)), f.NewCall(operators.Conditional, last, more, f.NewAccuIdent())
			result = f.NewCall(operators.Equals, f.NewAccuIdent(), one)
		}
		if len(args) == 4 {
			step = f.NewCall(operators.Conditional, args[2], step, f.NewAccuIdent())
		}
		value, always := args[1].AsIdent(), f.NewLiteral(types.True)
		return f.NewComprehensionTwoVar(target, key, value, f.AccuIdentName(), begin, always, step, result), nil
	}
}

// checkVariables rejects anything but two different names.
func checkVariables(f cel.MacroExprFactory, key, value ast.Expr) *cel.Error {
	for _, e := range []ast.Expr{key, value} {
		switch {
		case e.Kind() != ast.IdentKind:
			return f.NewError(e.ID(), "argument must be a simple name")
		case e.AsIdent() == f.AccuIdentName() || e.AsIdent() == parser.AccumulatorName:
			return f.NewError(e.ID(), "iteration variable overwrites accumulator variable")
		}
	}
	if key.AsIdent() == value.AsIdent() {
		return f.NewError(value.ID(), "duplicate variable name: "+key.AsIdent())
	}
	return nil
}

// sortBy sorts a list by the values of an expression: it binds the list to a name, and maps it.
func sortBy(f cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
	const bound = "@__sortBy_input__"
	keys, err := parser.MakeMap(f, f.NewIdent(bound), args)
	if err != nil {
		return nil, err
	}
	sorted := f.NewMemberCall(sortByKeys, f.NewIdent(bound), keys)
	never := f.NewLiteral(types.False)
	return f.NewComprehension(f.NewList(), "#unused", bound, target, never, f.NewIdent(bound), sorted), nil
}
