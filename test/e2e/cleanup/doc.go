// Package cleanup tests the forms of an expiry for Kyverno with its cleanup controller. The tests
// are built with the tag e2e, like those of test/e2e.
package cleanup
