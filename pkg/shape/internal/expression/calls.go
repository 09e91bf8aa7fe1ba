package expression

import (
	"fmt"
	"regexp"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// call is a function that asks for more than what it is given weighs, or gives
// more.
type call struct {
	op       functions.FunctionOp
	price    func(args []ref.Val) int            // steps; nil is none
	outgrows func(args []ref.Val, most int) bool // the result is too heavy to be made; nil is never
	matches  bool                                // its pattern is compiled once, if it is a constant
}

// calls returns those of a language, by the ids of their overloads and by name.
func calls(env *cel.Env) (map[string]call, error) {
	all := map[string]call{}
	for name, is := range map[string]call{
		"lists.range": {outgrows: rangeOutgrows}, "replace": {outgrows: replaceOutgrows}, "join": {outgrows: joinOutgrows}, "format": {outgrows: formatOutgrows},
		"contains": {price: priceOfPairs}, "indexOf": {price: priceOfPairs}, "lastIndexOf": {price: priceOfPairs},
		"sets.contains": {price: priceOfPairs}, "sets.equivalent": {price: priceOfPairs}, "sets.intersects": {price: priceOfPairs},
		"distinct": {price: func(args []ref.Val) int { return priceOfPairs([]ref.Val{args[0], args[0]}) }},
		"find":     {price: priceOfPattern}, "findAll": {price: priceOfPattern}, "matches": {price: priceOfPattern, matches: true},
	} {
		declared := env.Functions()[name]
		if declared == nil {
			continue
		}
		bindings, err := declared.Bindings()
		if err != nil {
			return nil, fmt.Errorf("bind %s: %w", name, err)
		}
		for _, b := range bindings {
			is.op = func(args ...ref.Val) ref.Val { return invoke(b, args) }
			all[b.Operator] = is
		}
	}
	return all, nil
}

func invoke(b *functions.Overload, args []ref.Val) ref.Val {
	switch {
	case b.OperandTrait != 0 && len(args) > 0 && !args[0].Type().HasTrait(b.OperandTrait):
	case b.Function != nil:
		return b.Function(args...)
	case b.Unary != nil && len(args) == 1:
		return b.Unary(args[0])
	case b.Binary != nil && len(args) == 2:
		return b.Binary(args[0], args[1])
	}
	return types.NewErr("no such overload")
}

// known makes a call of one of the calls pay beforehand, and leaves others as
// they are: what they work on has been weighed.
func (c counter) known(part interpreter.InterpretableCall) (interpreter.InterpretableCall, error) {
	is, ok := c.calls[part.OverloadID()]
	if !ok {
		if is, ok = c.calls[part.Function()]; !ok {
			return part, nil
		}
	}
	op, price := is.op, is.price
	if is.matches {
		if constant, ok := part.Args()[1].(interpreter.InterpretableConst); ok {
			text, _ := constant.Value().(types.String)
			compiled, err := regexp.Compile(string(text))
			if err != nil {
				return nil, err
			}
			op, price = matchesCompiled(compiled), priceOfMatch(patternSize(string(text)))
		}
	}
	return interpreter.NewCall(part.ID(), part.Function(), part.OverloadID(), part.Args(), func(args ...ref.Val) ref.Val {
		if is.outgrows != nil && is.outgrows(args, c.weight) {
			return tooHeavy()
		}
		if price != nil && !c.take(price(args)) {
			return tooManySteps()
		}
		return op(args...)
	}), nil
}

// size is how long a text or a list is.
func size(value ref.Val) int {
	if sized, ok := value.(traits.Sizer); ok {
		if n, ok := sized.Size().(types.Int); ok {
			return int(n)
		}
	}
	return 1
}

// pairsInStep is how many pairs of characters or elements are compared in a step.
const pairsInStep = 4

// priceOfPairs is for what holds each part of one value against each of another.
func priceOfPairs(args []ref.Val) int { return size(args[0]) * size(args[1]) / pairsInStep }

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
