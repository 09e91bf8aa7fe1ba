package verify

import (
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// maxBundle is the most bytes of a bundle, inside of a seal or beside a file.
const maxBundle = 256 << 10

// maxBundleNodes is the most values of a bundle. One with a proof of 64 hashes has a few
// hundred.
const maxBundleNodes = 2000

// VerifyDetached decides whether a document that carries no seal counts at the
// time now: one whose every byte, the line break at its end included, is what a
// Sigstore bundle v0.3 signs. It goes through the steps of [Verifier.Verify],
// with the bundle for the signature sets; that object and message are equal
// holds from the start, for they are the same bytes. It returns a *[Rejected]
// when the document does not count, and any other error when it could not
// decide.
func (v *Verifier) VerifyDetached(message, bundle []byte, now time.Time) (*Verified, error) {
	return v.examination(func(e *Examination) error {
		o, err := openDetached(message, bundle)
		if err != nil {
			return err
		}
		return e.judge(o)
	}).At(now)
}

func openDetached(message, bundle []byte) (opened, error) {
	// 3. The signature. The document is the message, and is read once it holds.
	set, err := signatureIn(bundle, message)
	if err != nil {
		return opened{}, err
	}
	return opened{raw: message, sets: []seal.Signature{set}}, nil
}

// signatureIn reads the signature set of a bundle that stands beside a message.
func signatureIn(raw, message []byte) (seal.Signature, error) {
	if len(raw) > maxBundle {
		return seal.Signature{}, reject(ReasonMalformedSignature, "the bundle is larger than %d KiB", maxBundle>>10)
	}
	b, err := readBundle(raw)
	if err != nil {
		return seal.Signature{}, err
	}
	set := seal.Signature{Signature: b.GetMessageSignature().GetSignature(), BundleV03: raw}
	switch material := b.GetVerificationMaterial(); {
	case b.GetMessageSignature() == nil:
		return seal.Signature{}, reject(ReasonMalformedSignature, "the bundle holds no message signature")
	case len(set.Signature) == 0:
		return seal.Signature{}, reject(ReasonMalformedSignature, "the bundle holds an empty signature")
	case material.GetCertificate() != nil:
		if set.Certificate = material.GetCertificate().GetRawBytes(); len(set.Certificate) == 0 {
			return seal.Signature{}, reject(ReasonMalformedSignature, "the bundle holds an empty certificate")
		}
	case material.GetPublicKey() == nil:
		return seal.Signature{}, reject(ReasonMalformedSignature, "the bundle holds neither one certificate nor the hint of a key")
	case len(material.GetTlogEntries()) == 0 && len(material.GetTimestampVerificationData().GetRfc3161Timestamps()) == 0:
		set.BundleV03 = nil // a bare signature by a key, as a seal without a bundle has it
	}
	return set, sameSignature(message, set, b)
}

// readBundle reads the one version of a bundle that is written today.
func readBundle(raw []byte) (*protobundle.Bundle, error) {
	if exception.TooManyNodes(raw, maxBundleNodes) {
		return nil, reject(ReasonMalformedSignature, "the bundle has more than %d values and separators", maxBundleNodes)
	}
	b := new(protobundle.Bundle)
	if err := protojson.Unmarshal(raw, b); err != nil {
		return nil, rejectCause(ReasonMalformedSignature, err, "the bundle cannot be read: %s", err)
	}
	if b.GetMediaType() != mediaTypeV03 {
		return nil, reject(ReasonMalformedSignature, "the bundle is of type %q, not %q", b.GetMediaType(), mediaTypeV03)
	}
	return b, nil
}
