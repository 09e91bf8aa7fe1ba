// Package promote moves exceptions from unsigned/ to signed/ in one commit.
//
//  1. The queue is read from the commit that HEAD names, not from what the work
//     tree became; a work tree that differs from it is refused.
//  2. Only regular files with plain names are taken. A target that exists, or an
//     object that is signed already under another name, is refused.
//  3. The caller checks and signs the whole queue.
//  4. The sealed files are written (temporary file, fsync, rename) and read back
//     before anything is taken from the queue.
//  5. One commit adds the sealed files and removes the unsigned ones.
package promote
