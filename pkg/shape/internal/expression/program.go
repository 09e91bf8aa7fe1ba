package expression

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// An evaluation is bounded by its steps. CEL's own cost is not taken for them: it
// does not count what it takes to weigh a value, and keeping it takes the longer
// the more turns a loop has had. A step here is a few dozen nanoseconds of work,
// whatever the work is: each part of an expression that is evaluated is one, each
// field on the way to a value, each [elementWeight] of a value that is made or
// read, and what a call asks beyond that, see calls.

// Program is an expression that is ready to be evaluated. It counts its steps, so
// it is for one goroutine at a time.
type Program struct {
	whole interpreter.InterpretableV2
	steps *allowance
}

// allowance is the steps that one evaluation may take.
type allowance struct{ left, most int }

var errTooManySteps = errors.New("it takes too many steps")

// take takes steps off what is left and reports whether there were that many.
// After that nothing more is evaluated: each part that is asked for its value has
// an error, and a loop has only turns to count.
func (s *allowance) take(n int) bool {
	s.left -= n
	return s.left >= 0
}

func tooManySteps() ref.Val { return types.WrapErr(errTooManySteps) }

// Plan makes a checked expression ready to be evaluated within the limits.
func (l *Language) Plan(checked *ast.AST) (*Program, error) {
	count := &allowance{most: l.limits.Steps}
	counter := counter{allowance: count, weight: l.limits.Weight, calls: l.calls}
	whole, err := l.planner.NewInterpretable(checked, interpreter.CustomDecoratorV2(orElse), interpreter.CustomDecoratorV2(counter.decorate))
	if err != nil {
		return nil, err
	}
	return &Program{whole, count}, nil
}

// Eval returns an expression's value and how many steps it took. The error says
// that it has none; it wraps errTooManySteps or errTooHeavy where the limits are
// why. Variables are a [cel.Activation] or a map.
func (p *Program) Eval(variables any) (value ref.Val, taken int, err error) {
	frame, err := interpreter.NewExecutionFrame(variables)
	if err != nil {
		return nil, 0, err
	}
	defer frame.Close()
	p.steps.left = p.steps.most
	defer func() {
		taken = p.steps.most - max(p.steps.left, 0)
		switch broken := recover(); {
		case p.steps.left < 0:
			value, err = nil, errTooManySteps
		case broken != nil:
			value, err = nil, fmt.Errorf("evaluating it broke: %v", broken)
		}
	}()
	value = p.whole.Exec(frame)
	if failed, ok := value.(*types.Err); ok {
		err = failed
	}
	return value, 0, err
}

// TooCostly reports whether an evaluation ended at its limits.
func TooCostly(err error) bool {
	return errors.Is(err, errTooManySteps) || errors.Is(err, errTooHeavy)
}
