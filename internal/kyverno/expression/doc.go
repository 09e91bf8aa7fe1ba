// Package expression compiles and evaluates CEL: the match conditions of policies.kyverno.io in the
// environment of Kubernetes, and the rules of a configuration.
//
//  1. [Compiling] limits the work of compiling. The work is known before it is done.
//  2. cel-go parses and checks an expression ([Language.Predicate]).
//  3. A [Program] evaluates it with cel-go's interpreter and stops at the cost limit.
package expression
