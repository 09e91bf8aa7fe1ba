package expression

import (
	"errors"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// Program is an expression that is ready for evaluation. It is safe for concurrent use.
type Program struct{ program cel.Program }

// Plan returns a program for a checked expression, with the cost limit.
func (l *Language) Plan(checked *ast.AST) (*Program, error) {
	program, err := l.env.PlanProgram(checked, cel.CostLimit(l.limits.Cost), cel.CostTracking(costs{}), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, err
	}
	return &Program{program}, nil
}

// Eval returns the value of an expression, which may be unknown, and its cost in CEL's measure.
// Variables are a [cel.Activation] or a map.
func (p *Program) Eval(variables any) (value ref.Val, cost int, err error) {
	value, details, err := p.program.Eval(variables)
	if details != nil {
		if actual := details.ActualCost(); actual != nil {
			cost = int(*actual) //nolint:gosec // it is limited
		}
	}
	return value, cost, err
}

// costs prevents CEL from asking for the size of a value that is only partly known.
type costs struct{}

// CallCost returns the cost of a call with such a value; nil is CEL's own cost.
func (costs) CallCost(_, _ string, args []ref.Val, _ ref.Val) *uint64 {
	for _, arg := range args {
		if _, is := arg.(interface{ Weightless() }); is {
			return new(uint64(1))
		}
	}
	return nil
}

// TooCostly reports whether an evaluation stopped at the cost limit.
func TooCostly(err error) bool {
	var cancelled interpreter.EvalCancelledError
	return errors.As(err, &cancelled)
}
