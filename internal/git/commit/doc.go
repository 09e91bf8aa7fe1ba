// Package commit puts a change of files into a repository as one commit, completely or not at all,
// locally and on a remote. The git command writes. This package decides the content and the order
// of the writes, and recovers interrupted runs.
//
//  1. One process at a time uses a work tree. The kernel releases the lock when the process
//     ends for any reason and its git commands that write have ended too. The next run first
//     completes or undoes an interrupted change.
//  2. A change is proposed for a tree, and again for another tree if the remote has moved. One
//     git fast-import writes its files, folders and commit as objects, without the work tree.
//     The commit is read back and compared before it counts.
//  3. Locally, the index is locked with Git's own lock file, so that no other Git commits or
//     switches branches. A journal records the change: a commit whose parents are the commits
//     before and after. POLEX_HEAD, next to HEAD, names the journal. A fetch cannot write
//     there. A reference below refs/polex protects it from git gc. Git then writes the new
//     files and a copy of the index, and moves the branch. The copy replaces the index.
//     Finally the old files are removed. If a step fails before the branch moves, everything
//     is restored.
//  4. With a remote, the branch is fetched, and the commit is made on its tip and pushed
//     without force. Nothing local changes before the remote accepts it. Then the local branch
//     and the work tree follow, as in 3. If the remote has moved, all of this is repeated, up
//     to a limit.
//  5. A recovery compares the files with the journal. It changes a file only if the file has
//     the old or the new version, or the beginning of one, which a killed Git leaves.
//
// This package locks the index itself, because Git would unlock it after each command. Between two
// commands, another commit could then include half of the change.
package commit
