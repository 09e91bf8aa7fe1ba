// Package git reads the content of one commit of a Git repository from its objects only. It does
// not use the work tree, the index or other files, and never writes. Git reads: [Git] runs it, for
// this package and all others.
//
//  1. A repository is a folder with its own .git, or a bare repository. Every clone that Git can
//     read works: alternates, linked work trees, sparse and partial clones, all formats of packs
//     and references. An object that a partial clone lacks is an error, and nothing is fetched
//     for a repository of others.
//  2. A revision is HEAD, a branch, a tag, a remote branch or a whole hash, and names exactly
//     one commit. Git lists the references; ambiguous names are rejected. Replacements
//     (refs/replace) are not followed.
//  3. Every object, from the commit down, is hashed and compared with its requested name. The
//     SHA-1 implementation detects known collisions.
//  4. Git states the size of an object, which is checked before its content is requested. The
//     number of entries and the depth of a walk are checked before the first visit. The size of
//     all objects of one tree is limited, and so are Git's memory and time for them.
//  5. A tree is an error if a name occurs twice or leads out of its folder, or if it is not in
//     Git's order: two programs could read it differently.
//  6. A comparison of two commits reads only the folders that differ. The author and the time
//     of a commit are claims of the commit itself.
package git
