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

// entity is a bundle for sigstore-go. Its parts are read once, not at every call.
type entity struct {
	*sgbundle.Bundle
	entries []*tlog.Entry
	content sgverify.VerificationContent
}

// TlogEntries returns the log entries.
func (e *entity) TlogEntries() ([]*tlog.Entry, error) { return e.entries, nil }

// VerificationContent returns the certificate or the key.
func (e *entity) VerificationContent() (sgverify.VerificationContent, error) { return e.content, nil }

// entityOf makes an entity of a bundle, and checks the rules of the bundle's version. Version 0.1
// requires an inclusion promise. Version 0.3 requires an inclusion proof and a single certificate
// without a chain. cert is the expected certificate if it was parsed before, or nil.
func entityOf(b *protobundle.Bundle, cert *x509.Certificate) (*entity, error) {
	e := &entity{Bundle: &sgbundle.Bundle{Bundle: b}}
	if b.GetMediaType() == mediaTypeV03 && b.GetVerificationMaterial().GetX509CertificateChain() != nil {
		return nil, reject(ReasonMalformedSignature,
			"the bundle holds a chain of certificates, and its version allows only one")
	}
	var err error
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

// leafOf returns the certificate of a bundle, from either of the two fields, or nil.
func leafOf(b *protobundle.Bundle) []byte {
	material := b.GetVerificationMaterial()
	if chain := material.GetX509CertificateChain().GetCertificates(); len(chain) > 0 {
		return chain[0].GetRawBytes()
	}
	return material.GetCertificate().GetRawBytes()
}
