// Package interop holds tests against k8s-manifest-sigstore, the peer whose
// format polex reads and writes: what either side seals, the other verifies.
//
// The peer's library and cosign's are the reference here, unmodified, with a
// sandbox as the trust root of both sides. Nothing of it ships.
package interop
