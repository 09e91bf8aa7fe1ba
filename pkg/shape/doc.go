// Package shape judges an exception before anyone signs it: is it narrow,
// bounded in time and accounted for, and does it leave alone what guards it?
//
//  1. The document must be a PolicyException, without a seal.
//  2. The API server must keep it as it is written ([exception.CheckSchema]),
//     Kyverno's own webhook must take it (the files engine*.go), and the engine
//     must heed it, where its release is known.
//  3. It must say which resources and which rules it exempts; a pattern that
//     fits anything says nothing.
//  4. It must not reach what would refuse it: exceptions, the policies about
//     them, the namespaces of Kyverno and polex. No setting permits that.
//  5. It must end, soon enough, and say what is asked for: its reason, ticket, owner.
//  6. What a reviewer reads must be what a machine reads.
//  7. With policies given ([ReadPolicies]), it must be from policies and rules
//     that exist. A policy that is about PolicyExceptions is never excepted
//     from, whatever its name.
//  8. With resources given ([ReadResources]), it should exempt some of them.
//  9. Beside others ([Set]), it must be the only document of its identity, and
//     should neither overlap with another nor outgrow the live one it replaces.
//
// A pattern is judged as Kyverno 1.19 matches it: "*" is any text, "?" any one
// character, and nothing else is special. Where what Kyverno does is an
// accident (operations are ignored, an empty filter matches nothing), the
// stricter reading counts.
//
// A match condition of policies.kyverno.io is compiled as Kyverno compiles it. It
// is narrow if it compares the name, the namespace or a label in plain literals;
// conditions in other forms are not proven narrow. With resources given, it is
// evaluated on these, as far as their files say what a request about them would be
// ([Exemption]), and two exceptions overlap if a resource is found that both are for.
// Evaluation is bounded by counting steps and weighing values. A configuration
// can add rules of its own, in CEL too, see [Rule].
//
// Each check stands in a file of its own: a value with what it finds, how severe that
// is, whether a configuration may change it, and its documentation. docs/checks.md, the
// JSON Schema of the configuration's section and the rules of SARIF are made from the list of
// checks. How Kyverno reads exceptions, policies, patterns and conditions is for
// internal/kyverno.
package shape

//go:generate go test -run ^TestDocs$ . -update
