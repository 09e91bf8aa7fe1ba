// Package review finds the review of a commit on the target branch: the requester, the approvers
// and the pull request. The result becomes part of the document before it is signed, so nobody can
// edit the record afterwards.
//
// A record comes from one source, and names it:
//
//   - api: the API of the forge, with a token. Only this source proves approvals.
//   - event: the payload of the workflow's event. It proves the requester and the pull request, but
//     no approvals.
//   - trailers: the last paragraph of the commit message. The author of the commit writes it, so
//     approvals in it count only with [Config.InsecureCountTrailers].
//
// Rules for the API, in this order:
//
//  1. The pull request must have been merged into this branch of this repository as this commit.
//     Without such a pull request, the record names none. Two of them are an error.
//  2. For each person, the last deciding review counts. It must approve the merged commit. The
//     reviewer must be a person with write access, and must not be the requester or the author of
//     the last commit.
//  3. The approved content must equal the content to sign: every file has the same content in the
//     approved commit. Otherwise no approval counts.
//
// A missing approval is a refusal ([exception.Refusals]). If the review cannot be determined, the
// error is an [*UnknownError], which may have advice. Callers must not sign in either case.
//
// The package does I/O only through [forge.Reviews] and [History]. From answers of the forge,
// it uses only validated numbers and names in later requests. The size and number of answers and
// every wait are limited.
package review
