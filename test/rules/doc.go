// Package rules holds the tests that keep the repository in the shape that its
// design describes: who may import whom, what may do I/O, how packages are
// named and documented, and what no file may mention.
package rules
