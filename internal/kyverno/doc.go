// Package kyverno is how Kyverno 1.19 reads exceptions and policies, and what follows
// from that alone. It has no settings of a team's and does no I/O.
//
//  1. [Read] makes one model of an exception of either API group: every text has its place,
//     and what has another type than its field is listed ([Exception.Unread]).
//  2. [ReadPolicies] reads the policies that exceptions are from, with the rules that Kyverno
//     makes of theirs, and says which of them are about exceptions.
//  3. [WidthOf] recognises whether match conditions restrict anything.
//  4. [ParseRelease] and what goes with it say what a release of Kyverno serves.
//
// [ReachesGuard] is the question that protects the guard. It is asked of one exception,
// and of nothing else: no report, no limit on a report and no other check has a part in
// the answer. Whatever is not plainly clear of the guard reaches it.
//
// Below it, the package wildcard matches patterns, manifest knows kinds, match says which
// resources an exception is for, expression compiles conditions, and translate writes
// exceptions of kyverno.io as ones of policies.kyverno.io.
package kyverno
