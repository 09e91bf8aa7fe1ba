package match

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/polex-dev/polex/internal/kyverno/expression"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// outcome is the set of possible results of an expression. It is empty if the meter ran out.
type outcome uint8

const (
	canHold outcome = 1 << iota
	canMiss         // be false
	canFail         // be an error
)

const anyOutcome = canHold | canMiss | canFail

// term is an expression, split at "&&", "||" and "!". In CEL, "unknown && error" is unknown,
// although it can never be true. Split into its parts, it is known not to be true.
type term struct {
	expr     *ast.AST
	operator string // "": not split
	parts    []*term
	program  *expression.Program // made on demand
	whole    bool                // a whole condition, which is evaluated before its parts
}

// maxTerms limits the number of parts of a condition.
const maxTerms = 100

// termOf splits a condition.
func termOf(c *expression.Condition) *term {
	left := maxTerms
	whole := termFor(c.Checked, &left)
	whole.whole = true
	return whole
}

// allOf joins conditions by "and".
func allOf(conditions []*term) *term { return &term{operator: operators.LogicalAnd, parts: conditions} }

func termFor(checked *ast.AST, left *int) *term {
	t := &term{expr: checked}
	e := checked.Expr()
	if e.Kind() != ast.CallKind || *left <= 0 {
		return t
	}
	switch e.AsCall().FunctionName() {
	case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot:
		t.operator = e.AsCall().FunctionName()
		for _, arg := range e.AsCall().Args() {
			*left--
			t.parts = append(t.parts, termFor(ast.NewCheckedAST(ast.NewAST(arg, checked.SourceInfo()), checked.TypeMap(), checked.ReferenceMap()), left))
		}
	}
	return t
}

// try returns the possible results of a term for a request, and the assumptions for a result that
// is not certain. For most conditions, the evaluation of the whole is sufficient.
func (t *term) try(work *wildcard.Meter, l *expression.Language, about *resourceRequest) (outcome, Assumptions) {
	if t.whole || t.operator == "" {
		result, assumed := t.evaluate(work, l, about)
		if result != anyOutcome || t.operator == "" {
			return result, assumed
		}
	}
	switch t.operator {
	case operators.LogicalNot:
		result, assumed := t.parts[0].try(work, l, about)
		return result.swapped(), assumed
	case operators.LogicalOr:
		result, assumed := t.join(work, l, about, func(o outcome) outcome { return o.swapped() })
		return result.swapped(), assumed
	default:
		return t.join(work, l, about, func(o outcome) outcome { return o })
	}
}

// join is CEL's "and": false if one part is false, otherwise an error if one part is an error. as
// converts the result of each part first.
func (t *term) join(work *wildcard.Meter, l *expression.Language, about *resourceRequest, as func(outcome) outcome) (outcome, Assumptions) {
	every, either := anyOutcome, outcome(0)
	var assumed Assumptions
	for i := range t.parts {
		result, assuming := t.parts[i].try(work, l, about)
		if result = as(result); result == canMiss || result == 0 {
			return result, 0
		}
		every &= result
		either |= result
		assumed |= assuming
	}
	// No part is certainly false, so an error of any part may be the result.
	return every&canHold | either&(canMiss|canFail), assumed
}

func (o outcome) swapped() outcome {
	swapped := o & canFail
	if o&canHold != 0 {
		swapped |= canMiss
	}
	if o&canMiss != 0 {
		swapped |= canHold
	}
	return swapped
}

// evaluationSteps is the work for one evaluation in addition to its cost.
const evaluationSteps = 20

func (t *term) evaluate(work *wildcard.Meter, l *expression.Language, about *resourceRequest) (outcome, Assumptions) {
	if t.program == nil {
		if !expression.Evaluable(t.expr.Expr()) {
			return anyOutcome, assumedFunction
		}
		var err error
		if t.program, err = l.Plan(t.expr); err != nil {
			return anyOutcome, assumedConditions
		}
	}
	if work.Spent() {
		return 0, 0
	}
	*about.noted = 0
	value, taken, err := t.program.Eval(about)
	work.Spend(evaluationSteps + taken)
	unknown, isUnknown := value.(*types.Unknown)
	switch {
	case expression.TooCostly(err):
		return anyOutcome, assumedCostly
	case *about.noted != 0:
		return anyOutcome, *about.noted
	case isUnknown:
		return anyOutcome, assumedOf(unknown)
	case value == types.True:
		return canHold, 0
	case value == types.False:
		return canMiss, 0
	}
	return canFail, 0
}
