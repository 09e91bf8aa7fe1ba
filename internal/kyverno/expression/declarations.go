package expression

import (
	_ "embed"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"
)

// declared lists the functions of cel-go's package ext (of Kubernetes 1.35: Strings 2, Lists 3, Sets and
// TwoVarComprehensions) and of k8s.io/apiserver/pkg/cel/library, and the fields of the objects of an admission, with
// the two that Kyverno adds to the request. The package ext adds 0.9 MB to a binary and the library more than doubles
// it, most of it to evaluate what polex only checks.
//
//go:embed declarations.txt
var declared string

// declarations returns the functions and objects of a text in the form of declarations.txt.
func declarations(text string) []cel.EnvOption {
	functions, objects := map[string][]cel.FunctionOpt{}, map[string]map[string]*cel.Type{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 4 || words[0] == "#" {
			continue
		}
		name, of := words[1], typesIn(words[3:])
		switch words[0] {
		case "field":
			if objects[name] == nil {
				objects[name] = map[string]*cel.Type{}
			}
			objects[name][words[2]] = of[0]
		case "method":
			functions[name] = append(functions[name], cel.MemberOverload(words[2], of[1:], of[0]))
		case "function":
			functions[name] = append(functions[name], cel.Overload(words[2], of[1:], of[0]))
		}
	}
	options := []cel.EnvOption{func(env *cel.Env) (*cel.Env, error) {
		return cel.CustomTypeProvider(provider{env.CELTypeProvider(), objects})(env)
	}}
	for name, overloads := range functions {
		options = append(options, cel.Function(name, overloads...))
	}
	return options
}

var simpleTypes = map[string]*cel.Type{
	"bool": cel.BoolType, "bytes": cel.BytesType, "double": cel.DoubleType, "duration": cel.DurationType,
	"dyn": cel.DynType, "int": cel.IntType, "string": cel.StringType, "timestamp": cel.TimestampType,
	"uint": cel.UintType,
}

func typesIn(words []string) []*cel.Type {
	all := make([]*cel.Type, len(words))
	for i, word := range words {
		name, inner, _ := strings.Cut(strings.TrimSuffix(word, ")"), "(")
		switch {
		case simpleTypes[name] != nil:
			all[i] = simpleTypes[name]
		case name == "list":
			all[i] = cel.ListType(typesIn([]string{inner})[0])
		case name == "optional":
			all[i] = cel.OptionalType(typesIn([]string{inner})[0])
		case name == "map": // the key has no parameters
			of := typesIn(strings.SplitN(inner, ",", 2))
			all[i] = cel.MapType(of[0], of[1])
		case len(name) == 1:
			all[i] = cel.TypeParamType(name)
		case strings.HasPrefix(name, "net."):
			all[i] = cel.OpaqueType(name)
		default:
			all[i] = cel.ObjectType(name)
		}
	}
	return all
}

// provider makes objects known to CEL's checker.
type provider struct {
	types.Provider
	objects map[string]map[string]*cel.Type
}

func (p provider) FindStructType(name string) (*types.Type, bool) {
	if p.objects[name] != nil {
		return types.NewTypeTypeWithParam(cel.ObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	if fields, ok := p.objects[name]; ok {
		return slices.Sorted(maps.Keys(fields)), true
	}
	return p.Provider.FindStructFieldNames(name)
}

func (p provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if fields, ok := p.objects[name]; ok {
		t, found := fields[field]
		return &types.FieldType{Type: t}, found
	}
	return p.Provider.FindStructFieldType(name, field)
}

// The functions that macros call.
const (
	mapInsert  = "cel.@mapInsert"
	sortByKeys = "@sortByAssociatedKeys"
)

// macros returns those of cel-go's package ext: sortBy, and the macros with two variables.
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

//go:noinline
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
