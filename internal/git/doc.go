// Package git reads the content of one commit of a Git repository from its objects only. It does
// not use the work tree, the index or other files, and never writes.
//
//  1. A repository is a folder with its own .git folder, or a bare repository. A .git file is
//     rejected and a list of alternates is ignored, because they lead to objects elsewhere.
//     The package opens no file outside the repository, and reads neither its configuration
//     nor the environment. For a clone of the caller's own, Git can read the objects
//     instead ([Folders]).
//  2. A revision is HEAD, a branch, a tag, a remote branch or a whole hash, and names exactly
//     one commit. Ambiguous names are rejected. Replacements (refs/replace) are not followed.
//  3. Every object, from the commit down, is hashed and compared with its requested name. The
//     SHA-1 implementation detects known collisions.
//  4. Every size is checked before memory is allocated: of loose objects, of packed objects,
//     and of all parts of a packed object together. The number of entries and the depth of a
//     walk are checked before the first visit. Each folder is read once, however often it
//     occurs. The total work for one tree is limited.
//  5. A tree is an error if a name occurs twice or leads out of its folder, or if it is not in
//     Git's order: two programs could read it differently.
//  6. A comparison of two commits reads only the folders that differ. The author and the time
//     of a commit are claims of the commit itself.
//
// go-git parses the objects of packs. Its storage is not used for untrusted repositories: it
// allocates as much memory as a pack or its index claims to need, and reads objects from
// alternates.
package git
