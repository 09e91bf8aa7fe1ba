package match

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"github.com/polex-dev/polex/internal/kyverno/expression"
)

// stage is a kind of request about a resource.
type stage struct {
	operation         string
	object, oldObject occupant
}

// occupant is the value of a variable for an object.
type occupant int

const (
	asWritten occupant = iota // the resource as in its file
	noFields                  // no object, as in Kyverno 1.19.1: an object without fields
	noObject                  // no object, as in the API server: null
)

// scheduled is the operation without a request: a DeletingPolicy checks existing objects. Its
// exceptions have no variables "request" and "oldObject".
const scheduled = ""

// stagesOf returns the stages for conditions: the creation, the update and the deletion of a
// resource, each with its alternatives. It omits stages that make no difference to the conditions.
func stagesOf(policies []string, conditions []*term) [][]stage {
	nothing := []occupant{noFields}
	if speakOfNull(conditions) {
		nothing = append(nothing, noObject)
	}
	var stages [][]stage
	if slices.ContainsFunc(policies, func(kind string) bool { return !onSchedule(kind) }) {
		var creation, deletion []stage
		for _, absent := range nothing {
			creation = append(creation, stage{"CREATE", asWritten, absent})
			deletion = append(deletion, stage{"DELETE", absent, asWritten})
		}
		stages = append(stages, creation)
		if speakOf(conditions, "oldObject", "request", "namespaceObject") {
			stages = append(stages, []stage{{"UPDATE", asWritten, asWritten}})
		}
		stages = append(stages, deletion)
	}
	if slices.ContainsFunc(policies, onSchedule) {
		stages = append(stages, []stage{{scheduled, asWritten, noFields}})
	}
	return stages
}

func onSchedule(kind string) bool { return strings.HasSuffix(kind, "DeletingPolicy") }

// speakOf reports whether a condition contains one of the variables.
func speakOf(conditions []*term, variables ...string) bool {
	return slices.ContainsFunc(conditions, func(c *term) bool { return expression.Mentions(c.expr, variables) })
}

// speakOfNull reports whether a condition contains null.
func speakOfNull(conditions []*term) bool {
	found := false
	for _, c := range conditions {
		ast.PreOrderVisit(c.expr.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
			found = found || e.Kind() == ast.LiteralKind && e.AsLiteral() == types.NullValue
		}))
	}
	return found
}
