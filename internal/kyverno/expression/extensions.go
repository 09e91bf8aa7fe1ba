package expression

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"
)

// These are the declarations of cel-go's package ext in the versions of Kubernetes 1.35: Strings 2, Lists 3, Sets and
// TwoVarComprehensions. The package itself adds 0.9 MB to a binary, most of it to evaluate what polex only checks. A
// test compares both.

// ordered are the types of values that can be sorted.
var ordered = []*cel.Type{
	cel.IntType, cel.UintType, cel.DoubleType, cel.DurationType,
	cel.BoolType, cel.TimestampType, cel.StringType, cel.BytesType,
}

func stringFunctions() map[string][]overload {
	text, number, texts := cel.StringType, cel.IntType, cel.ListType(cel.StringType)
	return map[string][]overload{
		"charAt": {method("string_char_at_int", text, text, number)},
		"indexOf": {
			method("string_index_of_string", number, text, text),
			method("string_index_of_string_int", number, text, text, number),
		},
		"lastIndexOf": {
			method("string_last_index_of_string", number, text, text),
			method("string_last_index_of_string_int", number, text, text, number),
		},
		"lowerAscii": {method("string_lower_ascii", text, text)},
		"upperAscii": {method("string_upper_ascii", text, text)},
		"trim":       {method("string_trim", text, text)},
		"replace": {
			method("string_replace_string_string", text, text, text, text),
			method("string_replace_string_string_int", text, text, text, text, number),
		},
		"split": {
			method("string_split_string", texts, text, text),
			method("string_split_string_int", texts, text, text, number),
		},
		"substring": {
			method("string_substring_int", text, text, number),
			method("string_substring_int_int", text, text, number, number),
		},
		"format":        {method("string_format", text, text, cel.ListType(cel.DynType))},
		"strings.quote": {function("strings_quote", text, text)},
		"join":          {method("list_join", text, texts), method("list_join_string", text, texts, text)},
	}
}

func collectionFunctions() map[string][]overload {
	list, anything, number := cel.ListType(cel.TypeParamType("T")), cel.ListType(cel.DynType), cel.IntType
	key, value := cel.TypeParamType("K"), cel.TypeParamType("V")
	mapping := cel.MapType(key, value)
	functions := map[string][]overload{
		"slice": {method("list_slice", list, list, number, number)},
		"flatten": {
			method("list_flatten", list, cel.ListType(list)),
			method("list_flatten_int", anything, anything, number),
		},
		"reverse":         {method("list_reverse", list, list)},
		"distinct":        {method("list_distinct", list, list)},
		"lists.range":     {function("lists_range", cel.ListType(number), number)},
		"sets.contains":   {function("list_sets_contains_list", cel.BoolType, list, list)},
		"sets.equivalent": {function("list_sets_equivalent_list", cel.BoolType, list, list)},
		"sets.intersects": {function("list_sets_intersects_list", cel.BoolType, list, list)},
		mapInsert: {
			function("@mapInsert_map_key_value", mapping, mapping, key, value),
			function("@mapInsert_map_map", mapping, mapping, mapping),
		},
	}
	for _, t := range ordered {
		sorted := method(fmt.Sprintf("list_%s_sort", t.TypeName()), cel.ListType(t), cel.ListType(t))
		byKeys := method(fmt.Sprintf("list_%s_sortByAssociatedKeys", t.TypeName()), list, list, cel.ListType(t))
		functions["sort"] = append(functions["sort"], sorted)
		functions[sortByKeys] = append(functions[sortByKeys], byKeys)
	}
	return functions
}

// The functions that macros call.
const (
	mapInsert  = "cel.@mapInsert"
	sortByKeys = "@sortByAssociatedKeys"
)

// macros returns sortBy and the macros with two variables: an index or a key, and a value.
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
