// Package release tests the release files: the same commit gives the same bytes, and the image has
// only the guard. The tests are built with the tag e2e.
package release
