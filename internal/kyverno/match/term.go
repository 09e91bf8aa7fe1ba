package match

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/polex-dev/polex/internal/kyverno/expression"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// outcome is what an expression can come to, as far as is known: one of the
// three for certain, or several. It is none where the meter ran out.
type outcome uint8

const (
	canHold outcome = 1 << iota
	canMiss         // be false
	canFail         // be an error
)

const anyOutcome = canHold | canMiss | canFail

// term is an expression, and what it is made of at "&&", "||" and "!". To CEL
// "unknown && error" is unknown, though it is true in no case; taken apart, it
// is known not to hold.
type term struct {
	expr     *ast.AST
	operator string // "" for what is not taken apart
	parts    []*term
	program  *expression.Program // made when it is needed
	whole    bool                // it is a condition, and evaluated before it is taken apart
}

// maxTerms bounds how many parts a condition is taken into.
const maxTerms = 100

// termOf takes a condition apart.
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

// try says what a term can come to for a request about a resource, and what is
// assumed if it comes to something that it need not. Most conditions are known
// as a whole.
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

// join is "and" in CEL's way: false if one part is, whatever the others are,
// and an error if one part is and none is false. Each part is turned by as
// before.
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
	// No part is sure to be false, so none keeps another's error from being all
	// that comes of it.
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

// evaluationSteps are those of the meter for one evaluation, beside the steps that
// are taken in it.
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
