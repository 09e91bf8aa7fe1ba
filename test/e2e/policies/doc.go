// Package policies applies policies/rbac, policies/cleanup and policies/generate to a real API
// server with Kyverno's admission, background and cleanup controllers. Each controller uses its own
// ServiceAccount. The tests are built with the tag e2e, like those of test/e2e.
package policies
