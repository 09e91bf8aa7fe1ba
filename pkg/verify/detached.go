package verify

import (
	"crypto/sha256"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// VerifyDetached verifies a document without signature annotations at the time now. The Sigstore
// bundle v0.3 must sign every byte of the message, the final line break included. The steps are
// those of [Verifier.Verify], with the bundle as the only signature set and without the comparison
// of object and message: they are the same bytes. It returns a *[Rejected] if the document is
// rejected, and any other error if it could not decide.
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
	// 3. The signature. The document is the message; it is parsed after the signature is verified.
	set, err := signatureIn(bundle, sha256.Sum256(message))
	if err != nil {
		return opened{}, err
	}
	return opened{raw: message, sets: []seal.Signature{set}}, nil
}

// signatureIn reads the signature set from a bundle in a file.
func signatureIn(raw []byte, digest [sha256.Size]byte) (seal.Signature, error) {
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
		return seal.Signature{}, reject(ReasonMalformedSignature,
			"the bundle holds neither one certificate nor the hint of a key")
	case len(material.GetTlogEntries()) == 0 &&
		len(material.GetTimestampVerificationData().GetRfc3161Timestamps()) == 0:
		set.BundleV03 = nil // a bare signature by a key, as in annotations without a bundle
	}
	return set, sameSignature(digest, set, b)
}

// readBundle reads a bundle v0.3, the only version that it accepts.
func readBundle(raw []byte) (*protobundle.Bundle, error) {
	if exception.TooManyNodes(raw, maxBundleNodes) {
		return nil, reject(ReasonMalformedSignature, "the bundle has more than %d values and separators",
			maxBundleNodes)
	}
	b := new(protobundle.Bundle)
	if err := protojson.Unmarshal(raw, b); err != nil {
		return nil, rejectCause(ReasonMalformedSignature, err, "the bundle cannot be read: %s", err)
	}
	if b.GetMediaType() != mediaTypeV03 {
		return nil, reject(ReasonMalformedSignature, "the bundle is of type %q, not %q", b.GetMediaType(), mediaTypeV03)
	}
	return b, checkBundle(b)
}
