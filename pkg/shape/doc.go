// Package shape checks an exception before anyone signs it. It checks the width of the
// exception, its lifetime, its statements, and that it does not reach the guard.
//
//  1. The document must be a PolicyException without the annotations of a signature.
//  2. The API server must keep it as it is written ([schema.Check]), Kyverno's webhook must accept it (engine.go), and
//     a known release of Kyverno must not ignore it.
//  3. It must name the resources and the rules that it exempts; a pattern that matches everything does not count.
//  4. It must not reach the guard: exceptions, the policies about them, the namespaces
//     of Kyverno and polex. No setting permits that.
//  5. It must expire, soon enough, and make the required statements: reason, ticket, owner.
//  6. A reviewer and a machine must read the same text.
//  7. With policies given ([ReadPolicies]), it must name policies and rules that exist.
//     No exception may exempt from a policy about PolicyExceptions, under any name.
//  8. With resources given ([ReadResources]), it should exempt some of them.
//  9. Among others ([Set]), it must be the only document of its identity. It should not
//     overlap with another, nor exempt more than the live one that it replaces.
//
// A pattern is read as Kyverno 1.19 matches it: "*" is any text, "?" any one
// character, and nothing else is special. Where the behaviour of Kyverno is an accident
// (operations are ignored, an empty filter matches nothing), the stricter reading counts.
//
// A match condition of policies.kyverno.io is compiled as Kyverno compiles it. It is narrow if it compares the name,
// the namespace or a label with plain literals; conditions in other forms are not proven narrow. No condition is
// evaluated. With resources given, plain comparisons show which of them it is true of ([Exemption]). Two exceptions
// overlap if a resource is found that both exempt.
//
// Each check is a value in the file of its subject, with its findings, their severity, whether a
// configuration may change it, and its documentation. docs/reference/reasons.md, the JSON Schema of
// the configuration's section and the rules of SARIF are generated from the list of checks.
// internal/kyverno knows how Kyverno reads exceptions, policies, patterns and conditions.
package shape

//go:generate go test -run ^TestDocs$ . -update
