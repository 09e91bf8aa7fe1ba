package verify

import "github.com/polex-dev/polex/pkg/exception"

// The reasons, in the order of the steps.
const (
	ReasonKindNotAllowed     = "kind-not-allowed"
	ReasonUnsigned           = "unsigned"
	ReasonMalformedSignature = "malformed-signature"
	ReasonBadMessage         = "malformed-message"

	ReasonBadCertificate       = "bad-certificate"
	ReasonNoLogEntry           = "no-log-entry"
	ReasonUnsupportedLogEntry  = "unsupported-log-entry"
	ReasonLogEntryMismatch     = "log-entry-mismatch"
	ReasonEvidenceMismatch     = "evidence-mismatch"
	ReasonBadSignature         = "bad-signature"
	ReasonUnprovenLogEntry     = "unproven-log-entry"
	ReasonNoWitnessedTime      = "no-witnessed-time"
	ReasonUntrustedCertificate = "untrusted-certificate"
	ReasonCertificateNotValid  = "certificate-not-valid"
	ReasonNoSCT                = "no-sct"
	ReasonUnknownKey           = "unknown-key"
	ReasonBadEvidence          = "bad-evidence"
	ReasonWrongIdentity        = "wrong-identity"
	ReasonTooFewAuthorities    = "too-few-authorities"
	ReasonBeyondLimits         = "beyond-limits"
	ReasonRenewalNotAllowed    = "renewal-not-allowed"
	ReasonAltered              = "altered"
	ReasonBadLifetime          = "bad-lifetime"
	ReasonNoExpiry             = "no-expiry"
	ReasonExpired              = "expired"
	ReasonLifetimeTooLong      = "lifetime-too-long"
	ReasonNotYetValid          = "not-yet-valid"
	ReasonSignedInFuture       = "signed-in-the-future"
	ReasonWithdrawn            = "withdrawn"
)

// Reasons returns every reason of a [Rejected], in the order of the steps.
func Reasons() []exception.Reason {
	return []exception.Reason{
		{Name: ReasonKindNotAllowed, Doc: "the kind is not in the trust policy"},
		{Name: ReasonUnsigned, Doc: "the document has no signature"},
		{Name: ReasonMalformedSignature, Doc: "a signature annotation is missing, unexpected or unreadable"},
		{Name: ReasonBadMessage, Doc: "the signed message is not one plain document"},
		{Name: ReasonBadCertificate, Doc: "the certificate cannot be used: it needs exactly one name, one issuer and " +
			"a supported key"},
		{Name: ReasonNoLogEntry, Doc: "the evidence has no log entry, but the trusted root lists a log"},
		{Name: ReasonUnsupportedLogEntry, Doc: "the log entry is not of the kind hashedrekord"},
		{Name: ReasonLogEntryMismatch, Doc: "the log entry belongs to another signature, message or key"},
		{Name: ReasonEvidenceMismatch, Doc: "the two forms of the evidence contradict each other"},
		{Name: ReasonBadSignature, Doc: "the signature was not made over these bytes by this key"},
		{Name: ReasonUnprovenLogEntry, Doc: "no log of the trusted root proves the log entry"},
		{Name: ReasonNoWitnessedTime, Doc: "the signing time is not proven, or the signature does not bind it"},
		{Name: ReasonUntrustedCertificate, Doc: "the certificate does not chain to the trusted root"},
		{Name: ReasonCertificateNotValid, Doc: "the certificate was not valid at the signing time"},
		{Name: ReasonNoSCT, Doc: "no certificate log of the trusted root proves the certificate"},
		{Name: ReasonUnknownKey,
			Doc: "the signature has no certificate, and was not made by a key in the trust policy"},
		{Name: ReasonBadEvidence, Doc: "the evidence is invalid for another reason"},
		{Name: ReasonWrongIdentity, Doc: "the signer is not trusted"},
		{Name: ReasonTooFewAuthorities, Doc: "too few trusted signers signed the document"},
		{Name: ReasonBeyondLimits, Doc: "enough trusted signers signed the document, but some of them exceed their " +
			"limits"},
		{Name: ReasonRenewalNotAllowed, Doc: "the document renews another one, and exceeds the limits for renewals"},
		{Name: ReasonAltered, Doc: "the object differs from the signed message"},
		{Name: ReasonBadLifetime, Doc: "the times of the document are invalid or contradict each other"},
		{Name: ReasonNoExpiry, Doc: "the exception has no expiry"},
		{Name: ReasonExpired, Doc: "the document has expired"},
		{Name: ReasonLifetimeTooLong, Doc: "the time from signing to expiry is too long"},
		{Name: ReasonNotYetValid, Doc: "the start of the document has not come yet"},
		{Name: ReasonSignedInFuture, Doc: "the signing time is in the future: one of the clocks is wrong"},
		{Name: ReasonWithdrawn, Doc: "the trust policy revokes the document or one of its signatures"},
	}
}

// Rejected is a rejection. It implements error.
type Rejected struct {
	Reason string // one of [Reasons]
	// Detail states the problem and the expected value; text from the document is quoted.
	Detail string
	// Cause is the underlying error, or nil.
	Cause error
	// Facts are the facts that were verified before the rejection. They only explain it; never act
	// on them.
	Facts Facts
}

// Error returns the detail and the reason.
func (r *Rejected) Error() string { return r.Detail + " [" + r.Reason + "]" }

// Unwrap returns the cause.
func (r *Rejected) Unwrap() error { return r.Cause }

// IsPolicy reports whether the trust policy rejected the document although its evidence is valid.
// Trying again does not help.
func (r *Rejected) IsPolicy() bool {
	switch r.Reason {
	case ReasonKindNotAllowed, ReasonWrongIdentity, ReasonTooFewAuthorities, ReasonBeyondLimits,
		ReasonRenewalNotAllowed, ReasonUnknownKey,
		ReasonNoExpiry, ReasonExpired, ReasonLifetimeTooLong, ReasonNotYetValid, ReasonWithdrawn:
		return true
	default:
		return false
	}
}
