// Package seal is the annotation format that makes a document verifiable on its
// own: reading it, writing it, and comparing what was signed with what is
// applied. It decides nothing about trust: pkg/verify does.
//
// The annotations stand under cosign.sigstore.dev/, byte-compatible with
// k8s-manifest-sigstore:
//
//	message      base64(gzip(YAML of the document without the seal))
//	signature    base64 of the signature over that YAML
//	certificate  base64(gzip(PEM of the signing certificate))
//	bundle       base64(gzip(JSON of cosign's Rekor bundle))
//	bundle.v0.3  base64(gzip(JSON of a Sigstore bundle v0.3)), the same evidence
//
// Further signatures carry _1, _2, … on all but the message, which they share.
//
// Everything is decoded within bounds, and no value is ever taken for an
// address or a path: a seal holds its own evidence or it is refused.
package seal
