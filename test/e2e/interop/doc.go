// Package interop tests polex with the real Sigstore, and with the commands of cosign,
// kubectl-sigstore and Kyverno. The tests have the build tag e2e, and `make e2e` builds the
// required programs.
package interop
