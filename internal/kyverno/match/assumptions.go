package match

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Assumptions are what was taken as given for want of a file that says it.
type Assumptions uint16

// One for each thing that no file says, in the order of assumptionTexts.
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

// assumptionTexts say each for people, as the end of "assuming …".
var assumptionTexts = [...]string{
	"that the request comes from those that the match asks for",
	"that the conditions hold",
	"that objects without a namespace in their file are in one that matches",
	"that namespaces which are in no file have the labels",
	"that generated names match",
	"that objects are created, updated or deleted as the conditions ask, and are then as in their files",
	"that values which the API server adds to objects and requests match",
	"that custom kinds are called in URLs as the conditions ask",
	"that functions which are not evaluated here return matching values",
	"that conditions hold where evaluating them costs too much",
	"that policies which mutate, generate or delete skip objects on which a condition cannot be evaluated",
	"that no controller makes more of these objects, such as the Pods of a Deployment",
}

// Texts says it for people, each as the end of "assuming …".
func (a Assumptions) Texts() []string {
	var said []string
	for i, text := range assumptionTexts {
		if a&(1<<i) != 0 {
			said = append(said, text)
		}
	}
	return said
}

// unknown is a value that a condition cannot be told, with what is assumed
// where it depends on that.
func (a Assumptions) unknown() ref.Val { return unknowns[a] }

// unknowns has one value for each assumption.
var unknowns = func() map[Assumptions]*types.Unknown {
	all := map[Assumptions]*types.Unknown{}
	for i, text := range assumptionTexts {
		all[1<<i] = types.NewUnknown(-1<<i, types.NewAttributeTrail(text)) // below the ids of expressions
	}
	return all
}()

// assumedOf says what is assumed with a value that could not be told.
func assumedOf(value *types.Unknown) Assumptions {
	var all Assumptions
	for one, unknown := range unknowns {
		if value.Contains(unknown) {
			all |= one
		}
	}
	if all == 0 {
		return assumedConditions // CEL has unknowns of its own
	}
	return all
}
