package shape

import (
	"errors"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// CEL counts steps, and a step may be of any size: chained calls of replace, or
// [x].map(x, [x, x]) a few dozen times, make values beyond any memory in few of
// them. So every value that an expression makes is weighed, what multiplies its
// arguments is asked beforehand, and a call costs as much as its arguments
// weigh.

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
	case *sketch:
		return left // nothing walks through one
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

// weightCost tells CEL what a call costs, unless CEL knows better: it counts a
// sum's and a pattern's cost itself.
type weightCost struct{ most int }

func (w weightCost) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	if function == operators.Add || function == overloads.Matches {
		return nil
	}
	left := w.most
	for _, arg := range args {
		if left >= 0 {
			left = weigh(arg, left)
		}
	}
	cost := uint64(1)
	if spent := w.most - max(left, 0); spent > 0 {
		cost += uint64(spent) / elementWeight
	}
	return &cost
}

func tooHeavy() ref.Val { return types.WrapErr(errTooHeavy) }

// bounded is a node of a program whose value is weighed: of any sort but a call
// or a constructor, which other parts of cel-go want to recognise.
type bounded struct {
	interpreter.InterpretableV2
	most int
}

func (b bounded) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	return weighed(b.InterpretableV2.Exec(frame), b.most)
}

func (b bounded) Eval(activation interpreter.Activation) ref.Val {
	return b.Exec(interpreter.AsFrame(activation))
}

type boundedCall struct {
	interpreter.InterpretableCall
	most int
}

// Exec only counts the elements of a sum of lists: a loop makes one at each
// turn, and weighs the last.
func (c boundedCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	value := c.InterpretableCall.Exec(frame)
	if list, ok := value.(traits.Lister); ok && c.Function() == operators.Add {
		if n, ok := list.Size().(types.Int); ok && int64(n) > int64(c.most/elementWeight) {
			return tooHeavy()
		}
		return value
	}
	return weighed(value, c.most)
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
		case interpreter.InterpretableAttribute, interpreter.InterpretableConst:
			return node, nil
		}
		return bounded{node, most}, nil
	}), nil
}
