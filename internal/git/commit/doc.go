// Package commit puts a change of files into a repository as one commit, all
// of it or nothing, locally and on a remote. The git command writes; this package
// decides what it writes, in which order, and what becomes of a run that is cut off.
//
//  1. One process at a time works in a work tree: the kernel frees the lock when its
//     holder ends, however it ends, and each git that the holder has started to write
//     to the work tree or the references.
//     What an earlier run was cut off in is finished or taken back first.
//  2. A change is proposed for a tree, and may be proposed again for another when
//     a remote has moved. One git fast-import writes its files, folders and commit as
//     objects; the work tree is not touched. The commit is read back before it counts.
//  3. Locally: the index is locked as Git locks it, so that no other Git commits or
//     switches branches meanwhile. A journal says what is about to be done: a commit
//     whose parents are the commits before and after, named by POLEX_HEAD beside this
//     work tree's HEAD, where nothing that is fetched comes to. A reference below
//     refs/polex keeps git gc from it. Then Git writes the new files and a copy of the
//     index, moves the branch, the copy takes the index's place, and at last the old
//     files are removed. A step that fails before the branch has moved puts everything
//     back.
//  4. With a remote: the branch is fetched, the commit is made on what it has and
//     pushed without force. Nothing local changes before the remote has taken it;
//     then the local branch and the work tree follow, as in 3. When the remote has
//     moved, all of this is done again, a number of times.
//  5. What is found with a journal is held against it: a file is touched only when it
//     is what it was before, what it is to be after, or the beginning of either, which
//     a Git that was killed leaves.
//
// The lock of the index is taken here and not by Git, which would give it back after
// each command: between two of them, another commit could take half of the change along.
package commit
