// Package cleanup holds the forms of an end that Kyverno heeds against its cleanup
// controller. The tests are built with the tag e2e, as those of test/e2e are.
package cleanup
