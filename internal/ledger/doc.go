// Package ledger builds the audit report: the history of every exception in a Git repository. The
// report names the requester, the reason, the approvers, the workflow run that signed, the expiry
// and the removal of each exception. The package verifies every signed document that it finds in
// the history, and compares the result with a cluster.
//
//  1. The line is the branch tip, its first parent, the first parent of that, and so on. Each
//     commit of the line is a step. The package reads the changes of a step in the two folders from
//     Git objects, and internal/git checks the hash of every object.
//  2. The commits that were merged into the line are read too. A merge can hide a history behind
//     its second parent, so a document that was under signed/ there and never on the line is a
//     finding.
//  3. Every document that was ever under signed/ is verified with the current trust policy of the
//     caller, for two times: its signing time and the time of the report. A document under
//     unsigned/ is a request, even if it carries a signature.
//  4. The steps are applied from the oldest to the newest. A document appears, stays, is replaced
//     by another one of the same name, or leaves.
//  5. Fields of a valid signature are reported as facts. The author and the time of a commit are
//     unverified claims of the committer, so they are kept apart in [Event]. Without a valid
//     signature, [Entry.Verified] is false, and no field of the document is trusted.
//  6. The time of a step is the time of its commit, or the time of the previous step if that is
//     later: time never runs backwards. A commit time in the future is ignored.
//  7. A renewal names its predecessor by the digest of the signed message, and its number of
//     renewals. Both are compared with the predecessor in the history ([Chain]).
//
// The package reads no clock and uses no network. Counts limit its work.
package ledger
