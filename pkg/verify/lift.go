package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"

	"github.com/polex-dev/polex/pkg/seal"
)

const (
	mediaTypeV01 = "application/vnd.dev.sigstore.bundle+json;version=0.1"
	mediaTypeV03 = "application/vnd.dev.sigstore.bundle.v0.3+json"
)

// errNoEntry means that a signature set has no log entry in either form.
var errNoEntry = errors.New("the signature has no log entry")

// evidenceOf returns the evidence of a signature set in one form. If both forms exist, they must
// agree, so that two readers never verify different evidence.
func evidenceOf(digest [sha256.Size]byte, s seal.Signature) (*protobundle.Bundle, error) {
	if s.BundleV03 == nil {
		if s.Bundle == nil {
			return nil, errNoEntry
		}
		return lift(digest, s)
	}
	b, err := readBundle(s.BundleV03)
	if err != nil {
		return nil, err
	}
	if err := sameSignature(digest, s, b); err != nil {
		return nil, err
	}
	return b, sameEntry(s.Bundle, b)
}

// sameSignature checks that a bundle has the signature, certificate and message of its set.
func sameSignature(digest [sha256.Size]byte, s seal.Signature, b *protobundle.Bundle) error {
	m := b.GetMessageSignature()
	switch {
	case m == nil:
		return reject(ReasonMalformedSignature, "the bundle holds no message signature")
	case !bytes.Equal(m.GetSignature(), s.Signature):
		return reject(ReasonEvidenceMismatch,
			"the bundle and the annotation cosign.sigstore.dev/signature hold different signatures")
	case m.GetMessageDigest().GetAlgorithm() != protocommon.HashAlgorithm_SHA2_256 ||
		!bytes.Equal(m.GetMessageDigest().GetDigest(), digest[:]):
		return reject(ReasonEvidenceMismatch, "the bundle belongs to another message")
	case !bytes.Equal(b.GetVerificationMaterial().GetCertificate().GetRawBytes(), s.Certificate):
		return reject(ReasonEvidenceMismatch, "the bundle holds another certificate than the annotation")
	}
	return nil
}

func sameEntry(old *seal.RekorBundle, b *protobundle.Bundle) error {
	if old == nil {
		return nil
	}
	lifted, err := liftEntry(old)
	if err != nil {
		return err
	}
	for _, entry := range b.GetVerificationMaterial().GetTlogEntries() {
		if entry.GetLogIndex() == lifted.LogIndex && entry.GetIntegratedTime() == lifted.IntegratedTime &&
			bytes.Equal(entry.GetLogId().GetKeyId(), lifted.LogId.KeyId) &&
			bytes.Equal(entry.GetCanonicalizedBody(), lifted.CanonicalizedBody) &&
			bytes.Equal(entry.GetInclusionPromise().GetSignedEntryTimestamp(),
				lifted.InclusionPromise.SignedEntryTimestamp) {
			return nil
		}
	}
	return reject(ReasonEvidenceMismatch,
		`the two bundles hold different log entries; if an older version left one, run "kubectl replace -f FILE" once`)
}

// lift makes a v0.1 bundle of the old annotations. It has a chain of one certificate (or a key
// hint), the log entry with its inclusion promise, and the digest.
func lift(digest [sha256.Size]byte, s seal.Signature) (*protobundle.Bundle, error) {
	entry, err := liftEntry(s.Bundle)
	if err != nil {
		return nil, err
	}
	logged, err := readEntry(entry.CanonicalizedBody)
	if err != nil {
		return nil, err
	}
	entry.KindVersion = &protorekor.KindVersion{Kind: logged.kind, Version: logged.version}
	material := &protobundle.VerificationMaterial{TlogEntries: []*protorekor.TransparencyLogEntry{entry}}
	if s.Certificate != nil {
		material.Content = &protobundle.VerificationMaterial_X509CertificateChain{
			X509CertificateChain: &protocommon.X509CertificateChain{
				Certificates: []*protocommon.X509Certificate{{RawBytes: s.Certificate}}}}
	} else {
		material.Content = &protobundle.VerificationMaterial_PublicKey{PublicKey: &protocommon.PublicKeyIdentifier{}}
	}
	return &protobundle.Bundle{
		MediaType:            mediaTypeV01,
		VerificationMaterial: material,
		Content: &protobundle.Bundle_MessageSignature{MessageSignature: &protocommon.MessageSignature{
			MessageDigest: &protocommon.HashOutput{Algorithm: protocommon.HashAlgorithm_SHA2_256, Digest: digest[:]},
			Signature:     s.Signature,
		}},
	}, nil
}

// liftEntry converts a log entry. The caller sets its kind, which is in the body.
func liftEntry(old *seal.RekorBundle) (*protorekor.TransparencyLogEntry, error) {
	body, err := base64.StdEncoding.Strict().DecodeString(old.Payload.Body)
	if err != nil {
		return nil, reject(ReasonMalformedSignature, "the log entry's body is not base64")
	}
	logID, err := hex.DecodeString(old.Payload.LogID)
	if err != nil {
		return nil, reject(ReasonMalformedSignature, "the log's id is not hexadecimal")
	}
	return &protorekor.TransparencyLogEntry{
		LogIndex:          old.Payload.LogIndex,
		LogId:             &protocommon.LogId{KeyId: logID},
		IntegratedTime:    old.Payload.IntegratedTime,
		InclusionPromise:  &protorekor.InclusionPromise{SignedEntryTimestamp: old.SignedEntryTimestamp},
		CanonicalizedBody: body,
	}, nil
}
