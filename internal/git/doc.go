// Package git reads what one commit of a Git repository holds, from its
// objects alone: the work tree, the index and whatever else lies on disk have no
// say in it. It reads and never writes.
//
//  1. A repository is a folder with its own .git folder, or a bare one. A .git
//     file or a list of alternates, which lead to objects elsewhere, is refused
//     or left unread; nothing outside of the repository's folder is opened. Its
//     configuration is not read, and neither is the environment. Only for a clone that
//     is the caller's own, Git reads the objects ([Folders]).
//  2. A revision is HEAD, a branch, a tag, a remote branch or a whole hash, and
//     names one commit or none: what could be meant in two ways is refused.
//     Replacements (refs/replace) are not followed.
//  3. Every object is hashed and held against the name that it was asked for by,
//     from the commit down, with a SHA-1 that notices known collisions.
//  4. Every size is checked before something of that size is made: of loose
//     objects, of packed ones, and of all that a packed one is made from together.
//     So are the number of entries and the depth of a walk, before anything is
//     visited: each folder is looked into once, however often it is held. What is
//     read and unpacked of one tree is bounded in all.
//  5. A tree in which a name stands twice, or leads out of its folder, or that is not
//     in Git's order, is an error: two readers would see two trees.
//  6. What two commits hold differently is read from the folders that differ, and
//     from no others. Who made a commit, and when, is what it says of itself.
//
// go-git reads the packs' objects. Its own storage is not used for what somebody
// else may have pushed, since it makes room for whatever a pack or its index
// claims to hold, and takes objects from alternates.
package git
