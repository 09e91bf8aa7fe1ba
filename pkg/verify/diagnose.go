package verify

import (
	"crypto/x509"

	sgverify "github.com/sigstore/sigstore-go/pkg/verify"
)

// checkCertificate verifies a certificate at a proven time, with its SCT. The errors of sigstore-go have no types, so
// it asks again without the SCT for the reason.
func (e *evidenceVerifier) checkCertificate(cert *x509.Certificate, t Witness) error {
	if cert == nil {
		return nil
	}
	_, cause := sgverify.VerifyLeafCertificate(t.At, cert, e.issuers)
	if cause == nil {
		return nil
	}
	switch _, err := sgverify.VerifyLeafCertificate(t.At, cert, e.material); {
	case err == nil:
		return rejectCause(ReasonNoSCT, cause, "no CT log in the trusted root confirms the certificate")
	case t.At.Before(cert.NotBefore) || t.At.After(cert.NotAfter):
		return rejectCause(ReasonCertificateNotValid, cause,
			"it was signed at %s, and the certificate was valid from %s to %s", clock(t.At), clock(cert.NotBefore),
			clock(cert.NotAfter))
	default:
		return rejectCause(ReasonUntrustedCertificate, cause,
			"the certificate was not issued by an authority of the trusted root (%s)", e.root.Source())
	}
}

// outsideValidity returns a rejection if the time of the log entry is outside the validity of the
// certificate. Such an entry fails in sigstore-go like an unproven one.
func outsideValidity(entity *entity, cert *x509.Certificate) error {
	if cert == nil {
		return nil
	}
	entries, err := entity.TlogEntries()
	if err != nil || len(entries) != 1 {
		return nil //nolint:nilerr // nothing to tell; the caller refuses either way
	}
	at := entries[0].IntegratedTime()
	if at.IsZero() || (!at.Before(cert.NotBefore) && !at.After(cert.NotAfter)) {
		return nil
	}
	return reject(ReasonCertificateNotValid, "it was logged at %s, and the certificate was valid from %s to %s",
		clock(at), clock(cert.NotBefore), clock(cert.NotAfter))
}
