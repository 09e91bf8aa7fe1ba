package match

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"github.com/polex-dev/polex/internal/kyverno/expression"
)

// stage is something that can be asked about a resource.
type stage struct {
	operation         string
	object, oldObject occupant
}

// occupant is what a variable for an object holds.
type occupant int

const (
	asWritten occupant = iota // the resource, as its file says it
	noFields                  // nothing, as Kyverno 1.19.1 says it: an object without fields
	noObject                  // nothing, as the API server says it
)

// scheduled is the operation of no request: a DeletingPolicy looks at what is
// there, and neither "request" nor "oldObject" exist for its exceptions.
const scheduled = ""

// stagesOf returns what conditions are tried at: the creation of a resource, its
// update and its deletion, each with the ways that it can look. Two that are
// the same to the conditions are one.
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

// speakOf reports whether one of the conditions names one of the variables.
func speakOf(conditions []*term, variables ...string) bool {
	return slices.ContainsFunc(conditions, func(c *term) bool { return expression.Mentions(c.expr, variables) })
}

// speakOfNull reports whether one of the conditions asks whether anything is
// null.
func speakOfNull(conditions []*term) bool {
	found := false
	for _, c := range conditions {
		ast.PreOrderVisit(c.expr.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
			found = found || e.Kind() == ast.LiteralKind && e.AsLiteral() == types.NullValue
		}))
	}
	return found
}
