package verify

import (
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"

	"github.com/sigstore/fulcio/pkg/certificate"

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
