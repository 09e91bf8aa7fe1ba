// Package release holds what is released against what it is said to be: the same
// bytes from the same commit, and an image of the guard alone. The tests are built
// with the tag e2e.
package release
