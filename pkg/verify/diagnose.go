package verify

import (
	"crypto/x509"

	sgverify "github.com/sigstore/sigstore-go/pkg/verify"
)

// diagnose finds the part of the evidence that sigstore-go rejected. The errors of sigstore-go have
// no types, so diagnose checks each part in sigstore-go's order. The result is always a rejection.
func (e *evidenceVerifier) diagnose(entity *entity, cert *x509.Certificate, cause error) error {
	// If one of these calls accepts, that changes nothing: the document is rejected.
	times, logErr := sgverify.VerifyTlogEntry(entity, e.material, 1, true)
	if logErr != nil && e.root.Logs() {
		if outside := e.outsideValidity(entity, cert); outside != nil {
			return outside
		}
		return rejectCause(ReasonUnprovenLogEntry, cause, "no transparency log in the trusted root confirms the log entry")
	}
	stamped, _, _ := sgverify.VerifySignedTimestamp(entity, e.material)
	for _, t := range stamped {
		times = append(times, *t)
	}
	if len(times) == 0 {
		return rejectCause(ReasonNoWitnessedTime, cause, "no trusted log or timestamp authority proves when it was signed")
	}
	if cert == nil {
		return rejectCause(ReasonBadEvidence, cause, "its evidence is invalid: %s", cause)
	}
	var chains [][]*x509.Certificate
	for _, t := range times {
		var err error
		if chains, err = sgverify.VerifyLeafCertificate(t.Time, cert, e.material); err != nil {
			if t.Time.Before(cert.NotBefore) || t.Time.After(cert.NotAfter) {
				return rejectCause(ReasonCertificateNotValid, cause, "it was signed at %s, and the certificate was valid from %s to %s", clock(t.Time), clock(cert.NotBefore), clock(cert.NotAfter))
			}
			return rejectCause(ReasonUntrustedCertificate, cause, "the certificate was not issued by an authority of the trusted root (%s)", e.root.Source())
		}
	}
	if e.scts {
		if err := sgverify.VerifySignedCertificateTimestamp(chains, 1, e.material); err != nil {
			return rejectCause(ReasonNoSCT, cause, "no CT log in the trusted root confirms the certificate")
		}
	}
	return rejectCause(ReasonBadEvidence, cause, "its evidence is invalid: %s", cause)
}

// outsideValidity returns a rejection if the time of the log entry is outside the validity of the
// certificate. Such an entry fails in sigstore-go like an unproven one.
func (e *evidenceVerifier) outsideValidity(entity *entity, cert *x509.Certificate) error {
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
	return reject(ReasonCertificateNotValid, "it was logged at %s, and the certificate was valid from %s to %s", clock(at), clock(cert.NotBefore), clock(cert.NotAfter))
}
