package expression

import (
	"errors"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// Program is an expression that is ready to be evaluated. It can be used by several
// goroutines.
type Program struct{ program cel.Program }

// Plan makes a checked expression ready to be evaluated within the limit on costs.
func (l *Language) Plan(checked *ast.AST) (*Program, error) {
	program, err := l.env.PlanProgram(checked, cel.CostLimit(l.limits.Cost), cel.CostTracking(costs{}), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, err
	}
	return &Program{program}, nil
}

// Eval returns an expression's value, which may be unknown, and what it cost, in CEL's
// measure. Variables are a [cel.Activation] or a map.
func (p *Program) Eval(variables any) (value ref.Val, cost int, err error) {
	value, details, err := p.program.Eval(variables)
	if details != nil {
		if actual := details.ActualCost(); actual != nil {
			cost = int(*actual) //nolint:gosec // it is limited
		}
	}
	return value, cost, err
}

// costs keeps CEL from asking a value that is known in part for its size.
type costs struct{}

// CallCost returns the cost of a call with such a value, and nil for CEL's own.
func (costs) CallCost(_, _ string, args []ref.Val, _ ref.Val) *uint64 {
	for _, arg := range args {
		if _, is := arg.(interface{ Weightless() }); is {
			return new(uint64(1))
		}
	}
	return nil
}

// TooCostly reports whether an evaluation ended at the limit on costs.
func TooCostly(err error) bool {
	var cancelled interpreter.EvalCancelledError
	return errors.As(err, &cancelled)
}
