// Package gitchange puts a change of files into a repository as one commit, all
// of it or nothing, locally and on a remote.
//
//  1. One process at a time works in a clone: the kernel frees the lock when its
//     holder ends, however it ends. What an earlier run was cut off in is finished
//     or taken back first.
//  2. A change is proposed for a tree, and may be proposed again for another when
//     a remote has moved. Its commit is made of objects (files, folders, commit)
//     without touching the work tree. Only the folders on the way to what changes
//     are written.
//  3. Locally: a journal in the Git folder says what is about to be done. Then the
//     new files are written (temporary file, fsync, rename, read back), the index
//     and the branch are replaced, under Git's own locks, and at last the old files
//     are removed. A step that fails before the branch has moved puts everything
//     back.
//  4. With a remote: the branch is fetched, the commit is made on what it has and
//     pushed without force. Nothing local changes before the remote has taken it;
//     then the local branch and the work tree follow, as in 3. When the remote has
//     moved, all of this is done again, a number of times.
//  5. What is found with a journal in the Git folder is held against it: a file is
//     touched only when it is exactly what it was before or is to be after.
//
// The git command is run for what only it knows: how to reach a remote, with its
// hooks and credentials, and how to sign a commit. go-git reads objects, and
// everything that has to survive being cut off is written here.
package gitchange
