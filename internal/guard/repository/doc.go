// Package repository reads which signed messages a commit of the repository of
// exceptions holds, for internal/guard. It reads the objects of one commit, as
// internal/git does, and neither a work tree nor the network.
//
// What cannot be read is an error as a whole, and never a smaller answer: what is
// missing from the answer may cost an exception its place in the cluster.
package repository
