// Package interop tests polex with k8s-manifest-sigstore, the peer that defined the format: each
// side verifies the signatures of the other.
//
// The reference is the unmodified library of the peer and cosign's. A sandbox is the trusted root
// of both sides. None of it is part of a release.
package interop
