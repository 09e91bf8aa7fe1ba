// Package ledger is the record of exceptions: who asked for each and why, who
// approved it, which workflow signed it and when, until when it counts, and how it
// left. It reads a repository's history, verifies what it finds there, and holds it
// against a cluster.
//
//  1. The line of a branch is its tip, the first parent of that, and so on: what the
//     branch held, one step after the other. What a step changed in the two folders
//     is read from objects that were each held against their hash (internal/git).
//  2. The commits that were merged into the line are read as well. A document that
//     was under signed/ there and never on the line is a finding: a merge can
//     hide a history behind its second parent.
//  3. Every document that was ever under signed/ is verified, and judged as of two
//     times: that which was witnessed, and that of the ledger. The trust policy is
//     the caller's, of today. What lies under unsigned/ is a request, whatever it
//     carries.
//  4. The steps are gone through from the oldest on. A document appears, stays, is
//     replaced by another of the same name, or leaves.
//  5. What stands in a seal that holds is said as it is. What Git says (who made a
//     commit, and when) is a claim of whoever made it, and kept apart: [Event].
//     Of a seal that does not hold, nothing is believed: [Entry.Verified].
//  6. The time of a step is its commit's, or that of the step before it if that is
//     later, so that time does not run backwards. A time still to come is none.
//  7. What was signed as a renewal is held against what was there: the predecessor
//     that it names, by its message, and the number that it goes on from ([Chain]).
//
// Steps that were read before may be remembered ([Steps]): which commit changed
// which path, and nothing that is called verified. They are used if they add up to
// what the tip holds, and forgotten otherwise. With them and without, the ledger is
// the same.
//
// The package has no clock and no network. Its work is bounded by counts.
package ledger
