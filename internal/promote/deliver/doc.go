// Package deliver brings a change of a repository to where a command is told to: into the
// work tree, on HEAD, or to a remote. Promoting and pruning differ in the change alone.
package deliver
