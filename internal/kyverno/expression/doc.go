// Package expression is CEL as exceptions are written in it: the match conditions
// of policies.kyverno.io in the environment of Kubernetes, and the rules of a
// configuration.
//
//  1. What compiling asks for is told and bounded before it is done ([Compiling]).
//  2. An expression is parsed and checked by cel-go ([Language.Predicate]).
//  3. A [Program] evaluates it, with cel-go's interpreter, and ends at its limits:
//     it counts steps and weighs values.
//  4. Some are true of anything ([Language.Constant]).
package expression
