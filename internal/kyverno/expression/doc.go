// Package expression compiles the match conditions of policies.kyverno.io, CEL in the environment of
// Kubernetes. It evaluates nothing.
//
//  1. [NewMeter] limits the work of compiling. The work is known before it is done.
//  2. cel-go parses and checks an expression ([Language.Compile]).
package expression
