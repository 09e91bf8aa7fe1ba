package sandbox

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"time"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
	tsx509 "github.com/sigstore/timestamp-authority/v2/pkg/x509"
)

const (
	// backdate moves the start of each validity into the past: signatures have timestamps in whole
	// seconds, rounded down.
	backdate = 5 * time.Minute
	// chainLifetime is much longer than a sandbox runs, but a forgotten trusted root still expires.
	chainLifetime = 30 * 24 * time.Hour
)

// authority is a certificate with its key.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// newRoot creates a self-signed authority.
func newRoot(name string) (*authority, error) {
	return (*authority)(nil).issue(&x509.Certificate{
		Subject:               pkix.Name{Organization: []string{"polex sandbox"}, CommonName: name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	})
}

// intermediate creates an authority below a that may issue for one purpose only.
func (a *authority) intermediate(name string, purpose x509.ExtKeyUsage) (*authority, error) {
	return a.issue(&x509.Certificate{
		Subject:               pkix.Name{Organization: []string{"polex sandbox"}, CommonName: name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{purpose},
	})
}

// timestamper creates the certificate that signs timestamps. RFC 3161, section 2.3: the extended
// key usage must be critical and contain only timestamping. The field of x509 cannot express that.
func (a *authority) timestamper(name string) (*authority, error) {
	purpose, err := asn1.Marshal([]asn1.ObjectIdentifier{tsx509.EKUTimestampingOID})
	if err != nil {
		return nil, fmt.Errorf("encode key usage: %w", err)
	}
	return a.issue(&x509.Certificate{
		Subject:         pkix.Name{Organization: []string{"polex sandbox"}, CommonName: name},
		KeyUsage:        x509.KeyUsageDigitalSignature,
		ExtraExtensions: []pkix.Extension{{Id: tsx509.EKUOID, Critical: true, Value: purpose}},
	})
}

// issue creates a key and a certificate for it, signed by a, or self-signed if a is nil.
func (a *authority) issue(template *x509.Certificate) (*authority, error) {
	name := template.Subject.CommonName
	curve := elliptic.P256()
	if template.IsCA {
		curve = elliptic.P384() // like the public-good Fulcio
	}
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate key of %s: %w", name, err)
	}
	if template.SerialNumber, err = cryptoutils.GenerateSerialNumber(); err != nil {
		return nil, fmt.Errorf("generate serial number of %s: %w", name, err)
	}
	if template.SubjectKeyId, err = cryptoutils.SKID(key.Public()); err != nil {
		return nil, fmt.Errorf("derive key identifier of %s: %w", name, err)
	}
	now := time.Now()
	template.NotBefore = now.Add(-backdate)
	template.NotAfter = now.Add(chainLifetime)
	parent, signer := template, key
	if a != nil {
		parent, signer = a.certificate, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, fmt.Errorf("create certificate of %s: %w", name, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse certificate of %s: %w", name, err)
	}
	return &authority{certificate: certificate, key: key}, nil
}
