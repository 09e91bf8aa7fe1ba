// Package interop tests polex against the real Sigstore, and against the
// commands that others sign and verify with: cosign, kubectl-sigstore and
// Kyverno. The tests have the build tag e2e, and `make e2e` builds what they run.
package interop
