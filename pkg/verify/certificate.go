package verify

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"

	"github.com/sigstore/fulcio/pkg/certificate"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	sgbundle "github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/tlog"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/polex-dev/polex/pkg/trust"
)

var (
	oidSubjectAltName = asn1.ObjectIdentifier{2, 5, 29, 17}
	// sanTypes are the types of name in certificates of Fulcio (RFC 5280, 4.2.1.6).
	sanTypes = map[int]string{1: "email", 6: "uri"}
)

// IdentityOf returns the identity in a certificate of Fulcio. The certificate needs exactly one
// subject alternative name and one issuer, else it returns an error. The name comes from the bytes
// of the certificate, without normalisation. The certificate's subject does not count. IdentityOf
// does not verify the certificate; [Verifier.Verify] does.
func IdentityOf(cert *x509.Certificate) (trust.Identity, error) {
	id, err := namedIn(cert)
	if err != nil {
		return trust.Identity{}, err
	}
	issuer, err := issuerOf(cert)
	if err != nil {
		return trust.Identity{}, err
	}
	claims, err := trust.Claims(cert.Extensions)
	if err != nil {
		return trust.Identity{}, err
	}
	id.Issuer, id.Claims = issuer, claims
	return id, nil
}

// namedIn returns the one name of a certificate.
func namedIn(cert *x509.Certificate) (trust.Identity, error) {
	var id trust.Identity
	seen := map[string]bool{}
	for _, ext := range cert.Extensions {
		oid := ext.Id.String()
		if seen[oid] {
			return id, fmt.Errorf("it has the extension %s twice", oid)
		}
		seen[oid] = true
		if ext.Id.Equal(oidSubjectAltName) {
			var err error
			if id.Type, id.Subject, err = subjectOf(ext.Value); err != nil {
				return id, err
			}
		}
	}
	if id.Subject == "" {
		return id, errors.New("it has no subject alternative name")
	}
	return id, nil
}

func subjectOf(der []byte) (kind, subject string, err error) {
	var names []asn1.RawValue
	rest, err := asn1.Unmarshal(der, &names)
	if err != nil || len(rest) > 0 {
		return "", "", errors.New("its subject alternative name cannot be read")
	}
	if len(names) != 1 {
		return "", "", fmt.Errorf("it has %d subject alternative names, and one is expected", len(names))
	}
	kind, known := sanTypes[names[0].Tag]
	if !known || names[0].Class != asn1.ClassContextSpecific {
		return "", "", errors.New("its subject alternative name is neither an address nor a mailbox")
	}
	if names[0].IsCompound {
		return "", "", errors.New("its subject alternative name is encoded as one of several parts")
	}
	return kind, string(names[0].Bytes), nil
}

// issuerOf reads Fulcio's issuer extension in its old form (raw) and its new form (DER). If both
// exist, they must be equal.
func issuerOf(cert *x509.Certificate) (string, error) {
	var issuers []string
	for _, ext := range cert.Extensions {
		switch {
		case ext.Id.Equal(certificate.OIDIssuer): //nolint:staticcheck // certificates of before 2023 have only this one
			issuers = append(issuers, string(ext.Value))
		case ext.Id.Equal(certificate.OIDIssuerV2):
			var issuer string
			if err := certificate.ParseDERString(ext.Value, &issuer); err != nil {
				return "", fmt.Errorf("its issuer extension: %w", err)
			}
			issuers = append(issuers, issuer)
		}
	}
	switch {
	case len(issuers) == 0 || issuers[0] == "":
		return "", errors.New("it names no OIDC issuer")
	case len(issuers) > 1 && issuers[0] != issuers[1]:
		return "", fmt.Errorf("it names two OIDC issuers, %q and %q", issuers[0], issuers[1])
	}
	return issuers[0], nil
}

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
