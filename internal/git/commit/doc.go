// Package commit puts a change of files into a repository as one commit, completely or not at all,
// locally and on a remote. The git command writes. This package decides the content and the order
// of the writes.
//
//  1. A change is proposed for a tree, and again for another tree if the branch has moved. One
//     git fast-import writes its files, folders and commit as objects, without the work tree.
//     The commit is read back and compared before it counts.
//  2. Locally, one transaction moves the branch from the commit that was read to the new one, and
//     names both in two references of the work tree (refs/worktree/polex). Nothing is locked
//     before: the comparison with the old commit is the lock.
//  3. Then the work tree follows: git restore writes the paths of the change, and no others. A
//     conflict with changes of the user is found before the branch moves. If the run is killed,
//     the two references are left, and the next run repeats git restore. A branch of another work
//     tree, or a detached HEAD, needs no such step.
//  4. With a remote, the branch is fetched, and the commit is made on its tip and pushed
//     without force. Nothing local changes before the remote accepts it. Then the local branch
//     and the work tree follow, as in 2 and 3, if this is a fast-forward. If the remote has
//     moved, all of this is repeated, up to a limit.
//
// Nothing is lost at any time: a file is removed only after a branch has the commit that replaces
// it.
package commit
