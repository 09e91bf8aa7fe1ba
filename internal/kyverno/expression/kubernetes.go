package expression

import "github.com/google/cel-go/cel"

// Kyverno 1.19 accepts a match condition of an exception if it compiles in the environment of
// Kubernetes 1.35 with four variables: object, oldObject, request and namespaceObject. It rejects
// the other variables and functions of policies (images, http, resource, variables, …). So does
// polex.
//
// cel-go provides its own part of that environment. declarations.txt has the functions of Kubernetes and of cel-go's
// package ext, extensions.go the macros of ext, and formatcalls.go its check of formats. Tests compare them with the
// originals, the module test/e2e/celpeer the whole.

// Variables returns the variables of a match condition.
func Variables() []string {
	return []string{"object", "oldObject", "request", "namespaceObject"}
}

// ForConditions returns the language of match conditions.
func ForConditions() (*Language, error) {
	options := []cel.EnvOption{
		cel.HomogeneousAggregateLiterals(),
		cel.ASTValidators(
			cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(),
			cel.ValidateRegexLiterals(), cel.ValidateHomogeneousAggregateLiterals(), formatCalls{},
		),
		macros(),
		cel.Variable("object", cel.DynType),
		cel.Variable("oldObject", cel.DynType),
		cel.Variable("request", cel.ObjectType("kubernetes.AdmissionRequest")),
		cel.Variable("namespaceObject", cel.ObjectType("kubernetes.Namespace")),
	}
	return newLanguage(append(options, declarations(declared)...)...)
}
