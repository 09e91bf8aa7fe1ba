package verify

import (
	"bytes"
	"crypto/x509"
	"errors"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	sgbundle "github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/tlog"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"
)

// entity is a bundle as sigstore-go verifies it, whose parts are read once and
// not each time that they are asked for.
type entity struct {
	*sgbundle.Bundle
	entries []*tlog.Entry
	content sgverify.VerificationContent
}

// TlogEntries returns the log entries.
func (e *entity) TlogEntries() ([]*tlog.Entry, error) { return e.entries, nil }

// VerificationContent returns the certificate or the key.
func (e *entity) VerificationContent() (sgverify.VerificationContent, error) { return e.content, nil }

// entityOf makes of a bundle what sigstore-go verifies. What the bundle has to
// hold is what the Sigstore bundle format asks of its version: the log's promise
// in 0.1, its proof in 0.3, and there a certificate without a chain.
// cert is the certificate that is expected in it, as it was parsed before, or nil.
func entityOf(b *protobundle.Bundle, cert *x509.Certificate) (*entity, error) {
	e := &entity{Bundle: &sgbundle.Bundle{Bundle: b}}
	err := checkTimestampCount(b)
	if err != nil {
		return nil, err
	}
	if cert != nil && bytes.Equal(leafOf(b), cert.Raw) {
		e.content = sgbundle.NewCertificate(cert)
	} else {
		e.content, err = e.Bundle.VerificationContent()
	}
	if err == nil {
		e.entries, err = e.Bundle.TlogEntries()
	}
	switch {
	case err != nil:
	case b.GetMessageSignature() == nil:
		err = errors.New("it holds no message signature")
	case b.GetMediaType() == mediaTypeV03 && b.GetVerificationMaterial().GetX509CertificateChain() != nil:
		err = errors.New("it holds a chain of certificates, and its version has one")
	case b.GetMediaType() == mediaTypeV03 && len(e.entries) > 0 && !e.HasInclusionProof():
		err = errors.New("its log entry has no inclusion proof")
	case b.GetMediaType() == mediaTypeV01 && len(e.entries) > 0 && !e.HasInclusionPromise():
		err = errors.New("its log entry has no inclusion promise")
	case b.GetMediaType() != mediaTypeV01 && b.GetMediaType() != mediaTypeV03:
		err = errors.New("its version is unknown")
	}
	if err != nil {
		return nil, rejectCause(ReasonMalformedSignature, err, "the bundle is not complete: %s", err)
	}
	return e, nil
}

// leafOf is the certificate that a bundle holds, in either of the two places, or nil.
func leafOf(b *protobundle.Bundle) []byte {
	material := b.GetVerificationMaterial()
	if chain := material.GetX509CertificateChain().GetCertificates(); len(chain) > 0 {
		return chain[0].GetRawBytes()
	}
	return material.GetCertificate().GetRawBytes()
}
