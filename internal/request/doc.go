// Package request drafts the narrowest exception that answers a violation.
//
//  1. A [Violation] is one rule of one policy that one resource did not pass. They
//     are read from reports ([FromReport]), from what "kyverno apply" prints
//     ([FromApply]), from what Kyverno says when it denies a request ([FromDenial]),
//     or made from what somebody says.
//  2. What none of these says is looked up: in the policies, which rules Kyverno
//     makes of a rule and whether they check controls of Pod security; in manifests,
//     whose Pod it is and which images it runs.
//  3. Violations of one cause become one request: those of the rules of one policy
//     by one workload, which is the Deployment and not its Pods one by one.
//  4. A [Draft] names the policy, the rules and their forms for the kinds it is for,
//     the exact names, and patterns only for the names that controllers make.
//     Its own name follows from what it exempts, so that who asks twice asks once.
//
// A report is written by whoever can make a report, and its texts by whoever names
// a resource: no text of it is a pattern, chooses what is read, or comes into a
// draft without having the form of a name. What a draft says of its reason, ticket
// and owner comes from the requester alone.
//
// [Renew] drafts the successor of an exception that was signed.
//
// The package does no I/O and knows no clock.
package request
