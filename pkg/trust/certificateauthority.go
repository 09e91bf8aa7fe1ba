package trust

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	sgroot "github.com/sigstore/sigstore-go/pkg/root"
)

// CertificateAuthority is an organisation's own issuer of signing certificates. Its certificates
// have neither an OIDC issuer nor an SCT.
type CertificateAuthority struct {
	chain []*x509.Certificate // the issuing certificate first, the root last
}

var _ sgroot.CertificateAuthority = (*CertificateAuthority)(nil)

// maxChain is the maximum number of certificates in a chain.
const maxChain = 8

// ParseCertificateAuthority reads a chain of at most 8 certificates in PEM. The issuing certificate
// comes first, each is issued by the next, and a self-signed root is last. It returns an error if
// the chain can never issue a code signing certificate, or if a key is weak.
func ParseCertificateAuthority(text string) (*CertificateAuthority, error) {
	blocks, err := pemBlocks(text)
	if err != nil {
		return nil, err
	}
	if len(blocks) > maxChain {
		return nil, fmt.Errorf("a chain of %d certificates; the maximum is %d", len(blocks), maxChain)
	}
	ca := &CertificateAuthority{}
	for i, block := range blocks {
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("a %s does not belong here", block.Type)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", i+1, err)
		}
		if err := checkIssues(cert, i); err != nil {
			return nil, fmt.Errorf("certificate %d: %w", i+1, err)
		}
		ca.chain = append(ca.chain, cert)
	}
	if err := ca.checkChain(); err != nil {
		return nil, err
	}
	return ca, nil
}

// checkIssues checks that a certificate can be in a chain above the given number of others.
func checkIssues(cert *x509.Certificate, below int) error {
	switch {
	case !cert.BasicConstraintsValid || !cert.IsCA:
		return errors.New("it is not a certificate authority's (basicConstraints)")
	case cert.KeyUsage&x509.KeyUsageCertSign == 0:
		return errors.New("it may not sign certificates (keyCertSign)")
	case cert.MaxPathLen >= 0 && cert.MaxPathLen < below:
		return fmt.Errorf("it allows %d certificate authorities below it, and there are %d", cert.MaxPathLen, below)
	}
	return CheckStrength(cert.PublicKey)
}

// checkChain checks that the next certificate issued each one and the last issued itself, and that
// all of them were valid at one time.
func (ca *CertificateAuthority) checkChain() error {
	last := len(ca.chain) - 1
	var at time.Time
	for i, cert := range ca.chain {
		if err := cert.CheckSignatureFrom(ca.chain[min(i+1, last)]); err != nil {
			return fmt.Errorf("certificate %d is not issued by the next, or the last by itself: the one that issues comes first, the root last: %w", i+1, err)
		}
		if cert.NotBefore.After(at) {
			at = cert.NotBefore
		}
	}
	found, err := ca.verify(ca.chain[0], at)
	if err != nil {
		return fmt.Errorf("it cannot issue certificates for signing code: %w", err)
	}
	if !slices.ContainsFunc(found, ca.is) {
		return errors.New("there is a shorter way to its root: name each certificate once")
	}
	return nil
}

// is reports whether a chain equals the configured one.
func (ca *CertificateAuthority) is(chain []*x509.Certificate) bool {
	return slices.EqualFunc(chain, ca.chain, (*x509.Certificate).Equal)
}

func (ca *CertificateAuthority) verify(cert *x509.Certificate, at time.Time) ([][]*x509.Certificate, error) {
	last := len(ca.chain) - 1
	return (&sgroot.FulcioCertificateAuthority{Root: ca.chain[last], Intermediates: ca.chain[:last]}).Verify(cert, at)
}

// String returns the subject of the root, in quotes.
func (ca *CertificateAuthority) String() string {
	return fmt.Sprintf("%q", ca.chain[len(ca.chain)-1].Subject)
}

// Issued reports whether the issuing key signed the certificate. It does not verify the
// certificate; [CertificateAuthority.Verify] does.
func (ca *CertificateAuthority) Issued(cert *x509.Certificate) bool {
	return cert.CheckSignatureFrom(ca.chain[0]) == nil
}

// CheckLeaf returns an error if a certificate is not for code signing, or if its key is weak.
// Unlike Fulcio, a private certificate authority may not have checked this.
func (ca *CertificateAuthority) CheckLeaf(cert *x509.Certificate) error {
	switch {
	case cert.IsCA:
		return errors.New("it is a certificate authority's")
	case cert.KeyUsage&x509.KeyUsageDigitalSignature == 0:
		return errors.New("its key usage is not digitalSignature")
	case !slices.Contains(cert.ExtKeyUsage, x509.ExtKeyUsageCodeSigning):
		return errors.New("its extended key usage is not codeSigning")
	}
	return CheckStrength(cert.PublicKey)
}

// Verify implements sigstore-go's CertificateAuthority. It returns the certificate with the
// configured chain, and rejects every other path to the root. All certificates must be valid at the
// time.
func (ca *CertificateAuthority) Verify(cert *x509.Certificate, at time.Time) ([][]*x509.Certificate, error) {
	chains, err := ca.verify(cert, at)
	if err != nil {
		return nil, err
	}
	for _, chain := range chains {
		if ca.is(chain[1:]) {
			return [][]*x509.Certificate{chain}, nil
		}
	}
	return nil, errors.New("its chain to the root differs from the configured one")
}

// sameIssuer reports whether two certificate authorities issue with one key.
func (ca *CertificateAuthority) sameIssuer(other *CertificateAuthority) bool {
	return bytes.Equal(ca.chain[0].RawSubjectPublicKeyInfo, other.chain[0].RawSubjectPublicKeyInfo)
}

// isFulcio reports whether the trusted root also issues with this key. Then a certificate would
// count for two types of authority.
func (ca *CertificateAuthority) isFulcio(root *Root) bool {
	return slices.ContainsFunc(root.issuing(), func(cert *x509.Certificate) bool {
		return bytes.Equal(cert.RawSubjectPublicKeyInfo, ca.chain[0].RawSubjectPublicKeyInfo)
	})
}

// Issued reports whether a certificate authority of the root signed the certificate. It does not
// verify the certificate.
func (r *Root) Issued(cert *x509.Certificate) bool {
	return slices.ContainsFunc(r.issuing(), func(issuer *x509.Certificate) bool { return cert.CheckSignatureFrom(issuer) == nil })
}

// issuing returns the certificates of the root's certificate authorities.
func (r *Root) issuing() []*x509.Certificate {
	var certs []*x509.Certificate
	for _, ca := range r.Material().FulcioCertificateAuthorities() {
		if fulcio, ok := ca.(*sgroot.FulcioCertificateAuthority); ok {
			certs = append(append(certs, fulcio.Intermediates...), fulcio.Root)
		}
	}
	return certs
}
