package expression

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
)

// Kyverno 1.19 admits a match condition of an exception if it compiles in the
// environment of Kubernetes 1.35 with four variables: object, oldObject,
// request and namespaceObject. What its policies have besides (images, http,
// resource, variables, …) is refused there, and so it is here.
//
// What of that environment is cel-go's comes from cel-go. The functions that
// are Kubernetes' own are declared in functiontable.go. The module test/celpeer holds all of it
// against the original.

// conditionLimits are tighter than those of Kubernetes, for what is evaluated here
// are small objects, many times.
var conditionLimits = Limits{Text: 10_240, Depth: 100, Cost: 10_000}

// Variables are what a match condition is about.
func Variables() []string {
	return []string{"object", "oldObject", "request", "namespaceObject"}
}

// ForConditions is the language of match conditions.
func ForConditions() (*Language, error) {
	options := []cel.EnvOption{
		cel.HomogeneousAggregateLiterals(),
		cel.ASTValidators(
			cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(),
			cel.ValidateRegexLiterals(), cel.ValidateHomogeneousAggregateLiterals(),
		),
		ext.Strings(ext.StringsVersion(2)), ext.Sets(), ext.Lists(ext.ListsVersion(3)), ext.TwoVarComprehensions(),
		WithStructures(structures()),
		cel.Variable("object", cel.DynType),
		cel.Variable("oldObject", cel.DynType),
		cel.Variable("request", cel.ObjectType(requestType)),
		cel.Variable("namespaceObject", cel.ObjectType(namespaceType)),
	}
	return New(conditionLimits, append(options, kubernetesFunctions()...)...)
}
