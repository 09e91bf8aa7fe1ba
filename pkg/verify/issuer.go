package verify

import (
	"crypto/x509"

	sgroot "github.com/sigstore/sigstore-go/pkg/root"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/polex-dev/polex/pkg/trust"
)

// certifiedMaterial is the trusted root with one certificate authority of the trust policy in place
// of its own. The root's logs and timestamp authorities prove the times of the signatures. A
// certificate of the root's own certificate authorities does not pass.
type certifiedMaterial struct {
	sgroot.TrustedMaterial
	issuer *trust.CertificateAuthority
}

// FulcioCertificateAuthorities returns that certificate authority. sigstore-go has no other method
// for one.
func (m certifiedMaterial) FulcioCertificateAuthorities() []sgroot.CertificateAuthority {
	return []sgroot.CertificateAuthority{m.issuer}
}

// newCertifiedVerifier requires no SCT: the CT logs of the root do not cover certificates of other
// issuers.
func newCertifiedVerifier(root *trust.Root, issuer *trust.CertificateAuthority) (*evidenceVerifier, error) {
	options := []sgverify.VerifierOption{sgverify.WithObserverTimestamps(1)}
	if root.Logs() {
		options = append(options, sgverify.WithTransparencyLog(1))
	}
	material := certifiedMaterial{root.Material(), issuer}
	library, err := sgverify.NewVerifier(material, options...)
	return &evidenceVerifier{root: root, material: material, library: library, issuer: issuer}, err
}

// issuedBy returns the verifier for a certificate, and its identity. A certificate by a certificate
// authority of the policy is verified against that one alone, any other against Fulcio alone. No
// certificate authority can be both: the trust policy rejects that.
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
