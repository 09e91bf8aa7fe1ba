// Package seal reads and writes the signature annotations of a document, and compares an object
// with its signed message. It does not decide about trust; pkg/verify does.
//
// The annotations are under cosign.sigstore.dev/, in the format of k8s-manifest-sigstore:
//
//	message      base64(gzip(YAML of the document without the annotations))
//	signature    base64 of the signature over that YAML
//	certificate  base64(gzip(PEM of the signing certificate))
//	bundle       base64(gzip(JSON of cosign's Rekor bundle))
//	bundle.v0.3  base64(gzip(JSON of a Sigstore bundle v0.3)), the same evidence
//
// Further signatures have the suffix _1, _2, … on all keys except the message, which they share.
//
// All values are decoded within limits. No value is used as an address or a path: the annotations
// must contain the evidence.
package seal
