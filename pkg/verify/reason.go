package verify

import "github.com/polex-dev/polex/pkg/exception"

// The reasons, in the order in which the steps can give them.
const (
	ReasonKindNotAllowed = "kind-not-allowed"
	ReasonUnsigned       = "unsigned"
	ReasonMalformedSeal  = "malformed-seal"
	ReasonBadMessage     = "malformed-message"

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
	ReasonAltered              = "altered"
	ReasonBadLifetime          = "bad-lifetime"
	ReasonNoExpiry             = "no-expiry"
	ReasonExpired              = "expired"
	ReasonLifetimeTooLong      = "lifetime-too-long"
	ReasonNotYetValid          = "not-yet-valid"
	ReasonSignedInFuture       = "signed-in-the-future"
	ReasonWithdrawn            = "withdrawn"
)

// Reasons returns every reason that a [Rejected] can have, in the order in which
// the steps give them.
func Reasons() []exception.Reason {
	return []exception.Reason{
		{Name: ReasonKindNotAllowed, Doc: "the trust policy does not speak of the kind"},
		{Name: ReasonUnsigned, Doc: "there is no seal"},
		{Name: ReasonMalformedSeal, Doc: "an annotation of the seal is missing, superfluous or unreadable"},
		{Name: ReasonBadMessage, Doc: "the signed message is not one plain document"},
		{Name: ReasonBadCertificate, Doc: "the certificate is not one with one name and one issuer"},
		{Name: ReasonNoLogEntry, Doc: "the evidence holds no log entry, though the trusted root names a log"},
		{Name: ReasonUnsupportedLogEntry, Doc: "the log entry is of another kind than hashedrekord"},
		{Name: ReasonLogEntryMismatch, Doc: "the log entry is about another signature, message or key"},
		{Name: ReasonEvidenceMismatch, Doc: "two forms of the evidence disagree"},
		{Name: ReasonBadSignature, Doc: "the signature is not over these bytes by this key"},
		{Name: ReasonUnprovenLogEntry, Doc: "no log of the trusted root vouches for the log entry"},
		{Name: ReasonNoWitnessedTime, Doc: "nobody trusted says when it was signed"},
		{Name: ReasonUntrustedCertificate, Doc: "the certificate does not chain to the trusted root"},
		{Name: ReasonCertificateNotValid, Doc: "it was signed outside of the certificate's validity"},
		{Name: ReasonNoSCT, Doc: "no certificate log of the trusted root vouches for the certificate"},
		{Name: ReasonUnknownKey, Doc: "there is no certificate, and no key of the trust policy signed it"},
		{Name: ReasonBadEvidence, Doc: "the evidence does not hold for another reason"},
		{Name: ReasonWrongIdentity, Doc: "it is signed, and by nobody that the trust policy names"},
		{Name: ReasonTooFewAuthorities, Doc: "it is signed by some that the trust policy names, and not by enough"},
		{Name: ReasonBeyondLimits, Doc: "enough of those that the trust policy names signed it, and some of them beyond what they may sign"},
		{Name: ReasonAltered, Doc: "the object is not what was signed"},
		{Name: ReasonBadLifetime, Doc: "its times cannot be read or contradict each other"},
		{Name: ReasonNoExpiry, Doc: "it is an exception without an end"},
		{Name: ReasonExpired, Doc: "its end has come"},
		{Name: ReasonLifetimeTooLong, Doc: "its end is too far from its signing"},
		{Name: ReasonNotYetValid, Doc: "its start has not come"},
		{Name: ReasonSignedInFuture, Doc: "it was witnessed after now: one of the clocks is wrong"},
		{Name: ReasonWithdrawn, Doc: "the trust policy revokes it"},
	}
}

// Rejected is a refusal.
type Rejected struct {
	Reason string // one of [Reasons]
	// Detail says what was found and what was expected; text from the document
	// is quoted.
	Detail string
	// Cause is the error behind it, where there is one.
	Cause error
	// Facts are what had been verified by then. They explain the refusal, and
	// nothing may be done for them.
	Facts Facts
}

// Error returns the detail and the reason.
func (r *Rejected) Error() string { return r.Detail + " [" + r.Reason + "]" }

// Unwrap returns the cause.
func (r *Rejected) Unwrap() error { return r.Cause }

// IsPolicy reports whether the evidence held and the trust policy refused: a
// reason that trying again does not change.
func (r *Rejected) IsPolicy() bool {
	switch r.Reason {
	case ReasonKindNotAllowed, ReasonWrongIdentity, ReasonTooFewAuthorities, ReasonBeyondLimits, ReasonUnknownKey,
		ReasonNoExpiry, ReasonExpired, ReasonLifetimeTooLong, ReasonNotYetValid, ReasonWithdrawn:
		return true
	default:
		return false
	}
}
