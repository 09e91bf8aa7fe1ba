// Package review finds out how a commit came to be on the branch that is signed:
// who asked for what it brings, who approved it, by which pull request. What it
// finds becomes part of the document before that is signed, so that nobody can
// edit the record afterwards.
//
// A record comes from one place, and says from which:
//
//   - api: GitHub's REST API, with a token. Only this place shows approvals.
//   - event: the payload of the event that a workflow runs for. It shows who
//     asked and by which pull request, and nothing of approvals.
//   - trailers: the last paragraph of the commit's message, which is written by
//     whoever wrote the commit. Approvals in it count only when that is asked for.
//
// From the API, in this order:
//
//  1. The pull request is the one that was merged into this very branch of this
//     very repository, as this commit. None is no pull request, and two are an
//     error.
//  2. Of each person the last review that decides something counts. It approves,
//     it is of the commit that was merged, and who gave it may write to the
//     repository, is a person, and neither asked for the change nor made its last
//     commit.
//  3. What was approved is what is signed: every file has in the approved commit
//     the content that it has here. Otherwise nobody approved it.
//  4. Code owners are those that CODEOWNERS named before the change: a pull
//     request cannot loosen the rule that it is judged by.
//
// What is not there is a refusal ([exception.Refusals]); what cannot be known is
// an error, an [*UnknownError] with what to do about it where that helps. Callers
// sign in neither case.
//
// The package does no I/O beyond the HTTP client and the [History] that it is
// given. Of what the API answers nothing chooses what is asked next but numbers
// and names that have the form of such; every answer, their number and every
// wait is bounded.
package review
