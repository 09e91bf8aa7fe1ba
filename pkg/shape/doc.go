// Package shape judges an exception before anyone signs it: is it narrow,
// bounded in time and accounted for, and does it leave alone what guards it?
//
//  1. The document must be a PolicyException, without a seal.
//  2. The API server must keep it as it is written ([exception.CheckSchema]),
//     and Kyverno's own webhook must take it (the files engine*.go).
//  3. It must say which resources and which rules it exempts; a pattern that
//     fits anything says nothing.
//  4. It must not reach what would refuse it: exceptions, the policies about
//     them, the namespaces of Kyverno and polex. No setting permits that.
//  5. It must end, soon enough, and say what is asked for: its reason, ticket, owner.
//  6. What a reviewer reads must be what a machine reads.
//
// A pattern is judged as Kyverno 1.19 matches it: "*" is any text, "?" any one
// character, and nothing else is special. Where what Kyverno does is an
// accident (operations are ignored, an empty filter matches nothing), the
// stricter reading counts.
//
// Each check stands in a file of its own; reasons.go lists what they find. The
// package does no I/O and knows no clock.
package shape
