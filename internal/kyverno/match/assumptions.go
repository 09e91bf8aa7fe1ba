package match

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Assumptions are facts that no file states and that a result depends on.
type Assumptions uint16

// One assumption for each text of assumptionTexts, in the same order.
const (
	assumedSender Assumptions = 1 << iota
	assumedConditions
	assumedNamespace
	assumedNamespaceLabels
	assumedName
	assumedOperation
	assumedServerFields
	assumedResourceName
	assumedFunction
	assumedCostly
	assumedLeftOut
	assumedMade
)

// assumptionTexts are the texts for people, each as the end of "assuming …".
var assumptionTexts = [...]string{
	"that the request is from a user that the match requires",
	"that the conditions hold",
	"that objects without a namespace in their file are in one that matches",
	"that namespaces which are in no file have the labels",
	"that generated names match",
	"that objects are created, updated or deleted as the conditions require, with the content of their files",
	"that values which the API server adds to objects and requests match",
	"that the URLs of custom kinds have the names that the conditions require",
	"that functions which are not evaluated here return matching values",
	"that conditions hold where evaluating them costs too much",
	"that policies which mutate, generate or delete skip objects on which a condition cannot be evaluated",
	"that no controller makes more of these objects, such as the Pods of a Deployment",
}

// Texts returns the texts for people, each as the end of "assuming …".
func (a Assumptions) Texts() []string {
	var said []string
	for i, text := range assumptionTexts {
		if a&(1<<i) != 0 {
			said = append(said, text)
		}
	}
	return said
}

// unknown returns a CEL value that is unknown. A result that depends on it needs the assumption.
func (a Assumptions) unknown() ref.Val { return unknowns[a] }

// unknowns has one value for each assumption.
var unknowns = func() map[Assumptions]*types.Unknown {
	all := map[Assumptions]*types.Unknown{}
	for i, text := range assumptionTexts {
		all[1<<i] = types.NewUnknown(-1<<i, types.NewAttributeTrail(text)) // below the ids of expressions
	}
	return all
}()

// assumedOf returns the assumptions of an unknown value.
func assumedOf(value *types.Unknown) Assumptions {
	var all Assumptions
	for one, unknown := range unknowns {
		if value.Contains(unknown) {
			all |= one
		}
	}
	if all == 0 {
		return assumedConditions // CEL makes unknowns too
	}
	return all
}
