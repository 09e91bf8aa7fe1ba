// Package promote moves exceptions from unsigned/ to signed/ in one commit.
//
//  1. The queue is read from a commit, its source, and not from what the work
//     tree became; a work tree that differs from HEAD there is refused. Each file
//     knows its origin, the commit that gave it its content.
//  2. Only regular files with plain names are taken. A target that exists, on
//     whatever file system, or an exception that is signed already is refused,
//     unless it is to be replaced, and then the difference can be shown.
//  3. A plan says what becomes of the queue on the commit that is built upon. What
//     changed there since is left to the run of that change.
//  4. The whole plan is checked, and the review of each file is recorded. Then the
//     caller signs it, or what another job has signed is taken over, each document
//     verified, and held against what was asked for.
//  5. One commit adds the sealed files and removes the unsigned ones: on HEAD, on
//     what a remote has by then, or on a branch for a pull request. When the remote
//     has moved, it is planned again, with the same sealed files. Package git/commit
//     makes it whole or not at all.
//
// [Run] holds this order. A dry run ends before anything is signed.
package promote
