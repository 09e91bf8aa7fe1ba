package shape

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// multipliers are the functions whose result can be larger than the sum of what
// they are given, by the ids of their overloads. What is too large is refused
// before it is made.
func multipliers(env *cel.Env, most int) (map[string]functions.FunctionOp, error) {
	guarded := map[string]functions.FunctionOp{}
	for name, outgrows := range map[string]func([]ref.Val, int) bool{
		"lists.range": rangeOutgrows, "replace": replaceOutgrows, "join": joinOutgrows, "format": formatOutgrows,
	} {
		declared := env.Functions()[name]
		bindings, err := declared.Bindings()
		if err != nil {
			return nil, err
		}
		for _, b := range bindings {
			guarded[b.Operator] = func(args ...ref.Val) ref.Val {
				if outgrows(args, most) {
					return tooHeavy()
				}
				return invoke(b, args)
			}
		}
	}
	return guarded, nil
}

func invoke(b *functions.Overload, args []ref.Val) ref.Val {
	switch {
	case b.Function != nil:
		return b.Function(args...)
	case b.Unary != nil && len(args) == 1:
		return b.Unary(args[0])
	case b.Binary != nil && len(args) == 2:
		return b.Binary(args[0], args[1])
	}
	return types.NewErr("no such overload")
}

func rangeOutgrows(args []ref.Val, most int) bool {
	n, ok := args[0].(types.Int)
	return !ok || int64(n) > int64(most/elementWeight)
}

// replaceOutgrows: text, what to replace, with what. An empty text to replace
// is found around every character.
func replaceOutgrows(args []ref.Val, most int) bool {
	text, _ := args[0].(types.String)
	with, _ := args[2].(types.String)
	return (len(text)+1)*(len(with)+1) > most*elementWeight
}

// joinOutgrows: a list of texts, what goes between them.
func joinOutgrows(args []ref.Val, most int) bool {
	if len(args) < 2 {
		return false // as heavy as the list
	}
	list, _ := args[0].(traits.Lister)
	between, _ := args[1].(types.String)
	if list == nil {
		return false // no such overload, says the function
	}
	n, _ := list.Size().(types.Int)
	return int64(n)*int64(len(between)) > int64(most)
}

// formatOutgrows: a format, the arguments. A precision of many digits asks for
// as many.
func formatOutgrows(args []ref.Val, _ int) bool {
	format, _ := args[0].(types.String)
	digits := 0
	for _, c := range format {
		if c < '0' || c > '9' {
			digits = 0
		} else if digits++; digits > 2 {
			return true
		}
	}
	return false
}
