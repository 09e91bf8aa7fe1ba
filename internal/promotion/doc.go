// Package promotion signs pending exceptions: it moves them from unsigned/ to signed/ in one commit.
//
//  1. It reads the pending files from a commit, the source, and not from the work tree. For each
//     file it finds the origin: the commit that last changed its content.
//  2. It accepts only regular files with plain names. A target path that exists (on any file
//     system), or an exception that is signed already, is an error, unless replacing is enabled.
//     The differences of a replacement can be shown.
//  3. A plan decides which pending files are promoted on top of the current target branch. A file
//     that has changed since the source is left to the run for that change.
//  4. The whole plan is checked, and the review of each file is recorded. Then the caller signs the
//     documents in batches. Before each batch, the run asks a remote for the target branch, and signs
//     no file that another run has promoted. Alternatively, the signed documents come from another
//     job: each one is verified and compared with the request.
//  5. One commit adds the signed files and removes the pending ones: on HEAD, on the target branch
//     of a remote, or on a branch for a pull request. If the remote has moved, the plan is made
//     again with the same signed files. Package git/commit makes the commit completely or not at
//     all.
//
// [Run] keeps this order in three steps, each in its file: plan (1 to 4), sign (4) and deliver (5).
// Without a destination, it stops before the signing.
package promotion
