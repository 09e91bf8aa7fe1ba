// Package release tests the release files: the same commit gives the same bytes, and each way of
// installing that a loopback can stand for works. The tests are built with the tag e2e.
package release
