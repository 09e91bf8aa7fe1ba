// Package kyverno is how Kyverno 1.19 reads what an exception says, and what follows
// from that alone. It has no settings of a team's and does no I/O.
//
// [ReachesGuard] is the question that protects the guard. It is asked of one exception,
// and of nothing else: no report, no limit on a report and no other check has a part in
// the answer. Whatever is not plainly clear of the guard reaches it.
package kyverno
