// Package cleanup tests the label with an expiry in Kyverno with its cleanup controller. The tests
// are built with the tag e2e, like those of test/e2e.
package cleanup
