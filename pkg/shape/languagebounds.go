package shape

import (
	"errors"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// CEL counts steps, and a step may be of any size: chained calls of replace, or
// [x].map(x, [x, x]) a few dozen times, make values beyond any memory in few of
// them. So every value that a call, a list or a map makes is weighed, and what
// multiplies its arguments is asked beforehand.

// elementWeight is what a value weighs besides its characters.
const elementWeight = 8

// weigh takes the weight of a value from what is left and returns the rest,
// which is negative when the value is too heavy.
func weigh(value ref.Val, left int) int {
	left -= elementWeight
	switch v := value.(type) {
	case types.String:
		return left - len(v)
	case types.Bytes:
		return left - len(v)
	case *types.Optional:
		if v.HasValue() {
			return weigh(v.GetValue(), left)
		}
	case traits.Mapper:
		for it := v.Iterator(); left >= 0 && it.HasNext() == types.True; {
			key := it.Next()
			left = weigh(v.Get(key), weigh(key, left))
		}
	case traits.Lister:
		for it := v.Iterator(); left >= 0 && it.HasNext() == types.True; {
			left = weigh(it.Next(), left)
		}
	}
	return left
}

func weighed(value ref.Val, most int) ref.Val {
	if weigh(value, most) < 0 {
		return tooHeavy()
	}
	return value
}

var errTooHeavy = errors.New("a value grows too large")

func tooHeavy() ref.Val { return types.WrapErr(errTooHeavy) }

type boundedCall struct {
	interpreter.InterpretableCall
	most int
}

func (c boundedCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	return weighed(c.InterpretableCall.Exec(frame), c.most)
}

func (c boundedCall) Eval(activation interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(activation))
}

type boundedConstructor struct {
	interpreter.InterpretableConstructor
	most int
}

func (c boundedConstructor) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	return weighed(c.InterpretableConstructor.Exec(frame), c.most)
}

func (c boundedConstructor) Eval(activation interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(activation))
}

// boundValues makes programs that make no value heavier than most.
func boundValues(env *cel.Env, most int) (cel.ProgramOption, error) {
	multipliers, err := multipliers(env, most)
	if err != nil {
		return nil, err
	}
	return cel.CustomDecoratorV2(func(node interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		switch node := node.(type) {
		case interpreter.InterpretableCall:
			if op, ok := multipliers[node.OverloadID()]; ok {
				return boundedCall{interpreter.NewCall(node.ID(), node.Function(), node.OverloadID(), node.Args(), op), most}, nil
			}
			return boundedCall{node, most}, nil
		case interpreter.InterpretableConstructor:
			return boundedConstructor{node, most}, nil
		}
		return node, nil
	}), nil
}

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
