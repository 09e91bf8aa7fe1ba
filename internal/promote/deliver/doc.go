// Package deliver applies a change of a repository to the work tree, to HEAD or to a remote.
// Promotion and pruning share it.
package deliver
