// Package policies applies what policies/rbac, policies/cleanup and policies/generate
// deliver to a real API server with Kyverno's admission, background and cleanup
// controller, each of which asks as its own ServiceAccount. The tests are built with
// the tag e2e, as those of test/e2e are.
package policies
