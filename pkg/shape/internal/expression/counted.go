package expression

import (
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"github.com/google/cel-go/parser"
)

// counter makes the parts of a program count their steps and weigh their values.
type counter struct {
	*allowance
	weight int // of any value
	calls  map[string]call
}

// weighed charges for a value's weight beyond that of a number, and returns it
// unless it is too heavy.
func (c counter) weighed(value ref.Val) ref.Val {
	left := weigh(value, c.weight)
	switch enough := c.take((c.weight - max(left, 0)) / elementWeight); {
	case !enough:
		return tooManySteps()
	case left < 0:
		return tooHeavy()
	}
	return value
}

// decorate keeps to the sorts of parts that other parts of cel-go want to
// recognise.
func (c counter) decorate(part interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	switch part := part.(type) {
	case *countedAttribute:
		return part, nil
	case interpreter.InterpretableConst:
		return countedConst{part, c}, nil
	case interpreter.InterpretableAttribute:
		return newCountedAttribute(part, c), nil
	case interpreter.InterpretableCall:
		known, err := c.known(part)
		return countedCall{known, c}, err
	case interpreter.InterpretableConstructor:
		return countedConstructor{part, c}, nil
	}
	return counted{part, c}, nil
}

type counted struct {
	interpreter.InterpretableV2
	counter
}

func (p counted) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	if !p.take(1) {
		return tooManySteps()
	}
	return p.weighed(p.InterpretableV2.Exec(frame))
}

func (p counted) Eval(activation interpreter.Activation) ref.Val {
	return p.Exec(interpreter.AsFrame(activation))
}

type countedConst struct {
	interpreter.InterpretableConst
	counter
}

func (p countedConst) Exec(*interpreter.ExecutionFrame) ref.Val { return p.weighed(p.Value()) }

func (p countedConst) Eval(activation interpreter.Activation) ref.Val {
	return p.Exec(interpreter.AsFrame(activation))
}

type countedConstructor struct {
	interpreter.InterpretableConstructor
	counter
}

func (p countedConstructor) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	if !p.take(1) {
		return tooManySteps()
	}
	return p.weighed(p.InterpretableConstructor.Exec(frame))
}

func (p countedConstructor) Eval(activation interpreter.Activation) ref.Val {
	return p.Exec(interpreter.AsFrame(activation))
}

// countedAttribute is a variable and fields of it, which are added one by one.
type countedAttribute struct {
	interpreter.InterpretableAttribute
	counter
	price       int
	accumulates bool
}

func newCountedAttribute(a interpreter.InterpretableAttribute, c counter) *countedAttribute {
	named, ok := a.Attr().(interpreter.NamespacedAttribute)
	return &countedAttribute{
		InterpretableAttribute: a, counter: c, price: 1,
		accumulates: ok && len(named.CandidateVariableNames()) == 1 && named.CandidateVariableNames()[0] == parser.HiddenAccumulatorName,
	}
}

func (a *countedAttribute) AddQualifier(q interpreter.Qualifier) (interpreter.Attribute, error) {
	a.price++
	return a.InterpretableAttribute.AddQualifier(q)
}

// Exec does not weigh what a loop gathers, for then it would be weighed at each
// turn. Only the loop can name it, and its result is weighed.
func (a *countedAttribute) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	if !a.take(a.price) {
		return tooManySteps()
	}
	value := a.InterpretableAttribute.Exec(frame)
	if a.accumulates {
		return value
	}
	return a.weighed(value)
}

func (a *countedAttribute) Eval(activation interpreter.Activation) ref.Val {
	return a.Exec(interpreter.AsFrame(activation))
}

// Resolve is Exec where the attribute is a part of another.
func (a *countedAttribute) Resolve(variables interpreter.Activation) (any, error) {
	if !a.take(a.price) {
		return nil, errTooManySteps
	}
	return a.InterpretableAttribute.Resolve(variables)
}

type countedCall struct {
	interpreter.InterpretableCall
	counter
}

func (p countedCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	if !p.take(1) {
		return tooManySteps()
	}
	value := p.InterpretableCall.Exec(frame)
	if list, ok := value.(traits.Lister); ok && p.Function() == operators.Add {
		return p.sum(list)
	}
	return p.weighed(value)
}

func (p countedCall) Eval(activation interpreter.Activation) ref.Val {
	return p.Exec(interpreter.AsFrame(activation))
}

// sum only counts the elements of what a loop gathers. Any other sum of lists is
// copied: in CEL it is a list that looks for an element in one of two others,
// which may be sums again.
func (p countedCall) sum(list traits.Lister) ref.Val {
	n, ok := list.Size().(types.Int)
	if !ok || int64(n) > int64(p.weight/elementWeight) {
		return tooHeavy()
	}
	if _, gathers := list.(traits.MutableLister); gathers {
		return list
	}
	elements := make([]ref.Val, 0, n)
	for it := list.Iterator(); it.HasNext() == types.True; {
		elements = append(elements, it.Next())
	}
	return p.weighed(types.NewRefValList(types.DefaultTypeAdapter, elements))
}
