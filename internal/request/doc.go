// Package request drafts the narrowest exception for a violation.
//
//  1. A [Violation] is one rule of one policy that one resource violates. Violations come
//     from reports ([FromReport]), the output of "kyverno apply" ([FromApply]), the message of
//     a denied request ([FromDenial]), or the command line.
//  2. The policies and manifests add missing facts. Policies contain the rules that Kyverno
//     generates from a rule, and the rules that check controls of Pod security. Manifests
//     contain the owner of a Pod and its images.
//  3. Violations of one cause become one request: all rules of one policy that one workload
//     violates. The workload is the Deployment, not each of its Pods.
//  4. A [Draft] contains the policy, the rules, their generated forms for the exempted kinds,
//     and the exact names. It uses patterns only for the names that controllers generate. Its
//     own name follows from the exemption, so that the same request gives the same name.
//
// A report is untrusted, and so are the resource names in it. No text of a report becomes a
// pattern, selects input, or gets into a draft without the form of a name. The reason, ticket and
// owner of a draft come only from the requester.
//
// [Renew] drafts the successor of a signed exception.
//
// The package does no I/O and reads no clock.
package request
