package verify

import (
	"crypto/x509"

	sgroot "github.com/sigstore/sigstore-go/pkg/root"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/polex-dev/polex/pkg/trust"
)

// certifiedMaterial is the trusted root with one certificate authority in place
// of its own: the root's logs and timestamp authorities witness what that one's
// certificates sign, and no certificate of the root's counts for it.
type certifiedMaterial struct {
	sgroot.TrustedMaterial
	issuer *trust.CertificateAuthority
}

// FulcioCertificateAuthorities returns the one authority. sigstore-go knows none
// but Fulcio's by name.
func (m certifiedMaterial) FulcioCertificateAuthorities() []sgroot.CertificateAuthority {
	return []sgroot.CertificateAuthority{m.issuer}
}

// newCertifiedVerifier asks for no SCT: the certificate logs of the root promise
// nothing of what others issue.
func newCertifiedVerifier(root *trust.Root, issuer *trust.CertificateAuthority) (*evidenceVerifier, error) {
	options := []sgverify.VerifierOption{sgverify.WithObserverTimestamps(1)}
	if root.Logs() {
		options = append(options, sgverify.WithTransparencyLog(1))
	}
	material := certifiedMaterial{root.Material(), issuer}
	library, err := sgverify.NewVerifier(material, options...)
	return &evidenceVerifier{root: root, material: material, library: library, issuer: issuer}, err
}

// issuedBy returns who verifies a certificate, and whom it names: what one of the
// policy's certificate authorities signed is judged as theirs alone, and anything
// else as Fulcio's alone. New makes sure that nobody is both.
func (v *Verifier) issuedBy(cert *x509.Certificate) (*evidenceVerifier, trust.Identity, error) {
	for _, e := range v.certified {
		if !e.issuer.Issued(cert) {
			continue
		}
		id, err := namedBy(cert)
		if err == nil {
			err = e.issuer.CheckLeaf(cert)
		}
		if err != nil {
			return nil, id, rejectCause(ReasonBadCertificate, err, "the certificate by %s cannot be used: %s", e.issuer, err)
		}
		id.CertificateAuthority = e.issuer
		return e, id, nil
	}
	if v.keyless == nil {
		return nil, trust.Identity{}, reject(ReasonUntrustedCertificate, "the issuer of the certificate is not in the trusted root or the trust policy")
	}
	id, err := IdentityOf(cert)
	if err != nil && len(v.certified) > 0 && !v.policy.Root().Issued(cert) {
		return nil, id, rejectCause(ReasonUntrustedCertificate, err, "the certificate was issued neither by an authority of the trusted root (%s) nor by one of the trust policy", v.policy.Root().Source())
	}
	if err != nil {
		return nil, id, rejectCause(ReasonBadCertificate, err, "the certificate is not one of Fulcio's: %s", err)
	}
	return v.keyless, id, nil
}
