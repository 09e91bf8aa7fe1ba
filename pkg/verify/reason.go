package verify

// Reason is the stable name of a refusal. The same word stands in text, JSON,
// SARIF, admission messages, metric labels and the documentation.
type Reason string

// The reasons, in the order in which the steps can give them.
const (
	ReasonKindNotAllowed Reason = "kind-not-allowed"
	ReasonUnsigned       Reason = "unsigned"
	ReasonMalformedSeal  Reason = "malformed-seal"
	ReasonBadMessage     Reason = "malformed-message"

	ReasonBadCertificate       Reason = "bad-certificate"
	ReasonNoLogEntry           Reason = "no-log-entry"
	ReasonUnsupportedLogEntry  Reason = "unsupported-log-entry"
	ReasonLogEntryMismatch     Reason = "log-entry-mismatch"
	ReasonEvidenceMismatch     Reason = "evidence-mismatch"
	ReasonBadSignature         Reason = "bad-signature"
	ReasonUnprovenLogEntry     Reason = "unproven-log-entry"
	ReasonNoWitnessedTime      Reason = "no-witnessed-time"
	ReasonUntrustedCertificate Reason = "untrusted-certificate"
	ReasonCertificateNotValid  Reason = "certificate-not-valid"
	ReasonNoSCT                Reason = "no-sct"
	ReasonUnknownKey           Reason = "unknown-key"
	ReasonBadEvidence          Reason = "bad-evidence"
	ReasonWrongIdentity        Reason = "wrong-identity"
	ReasonTooFewAuthorities    Reason = "too-few-authorities"
	ReasonBeyondLimits         Reason = "beyond-limits"
	ReasonAltered              Reason = "altered"
	ReasonBadLifetime          Reason = "bad-lifetime"
	ReasonNoExpiry             Reason = "no-expiry"
	ReasonExpired              Reason = "expired"
	ReasonLifetimeTooLong      Reason = "lifetime-too-long"
	ReasonNotYetValid          Reason = "not-yet-valid"
	ReasonSignedInFuture       Reason = "signed-in-the-future"
	ReasonWithdrawn            Reason = "withdrawn"
)

// reasons says what each means.
var reasons = []struct {
	name Reason
	doc  string
}{
	{ReasonKindNotAllowed, "the trust policy does not speak of the kind"},
	{ReasonUnsigned, "there is no seal"},
	{ReasonMalformedSeal, "an annotation of the seal is missing, superfluous or unreadable"},
	{ReasonBadMessage, "the signed message is not one plain document"},
	{ReasonBadCertificate, "the certificate is not one with one name and one issuer"},
	{ReasonNoLogEntry, "the evidence holds no log entry, though the trusted root names a log"},
	{ReasonUnsupportedLogEntry, "the log entry is of another kind than hashedrekord"},
	{ReasonLogEntryMismatch, "the log entry is about another signature, message or key"},
	{ReasonEvidenceMismatch, "two forms of the evidence disagree"},
	{ReasonBadSignature, "the signature is not over these bytes by this key"},
	{ReasonUnprovenLogEntry, "no log of the trusted root vouches for the log entry"},
	{ReasonNoWitnessedTime, "nobody trusted says when it was signed"},
	{ReasonUntrustedCertificate, "the certificate does not chain to the trusted root"},
	{ReasonCertificateNotValid, "it was signed outside of the certificate's validity"},
	{ReasonNoSCT, "no certificate log of the trusted root vouches for the certificate"},
	{ReasonUnknownKey, "there is no certificate, and no key of the trust policy signed it"},
	{ReasonBadEvidence, "the evidence does not hold for another reason"},
	{ReasonWrongIdentity, "it is signed, and by nobody that the trust policy names"},
	{ReasonTooFewAuthorities, "it is signed by some that the trust policy names, and not by enough"},
	{ReasonBeyondLimits, "enough of those that the trust policy names signed it, and some of them beyond what they may sign"},
	{ReasonAltered, "the object is not what was signed"},
	{ReasonBadLifetime, "its times cannot be read or contradict each other"},
	{ReasonNoExpiry, "it is an exception without an end"},
	{ReasonExpired, "its end has come"},
	{ReasonLifetimeTooLong, "its end is too far from its signing"},
	{ReasonNotYetValid, "its start has not come"},
	{ReasonSignedInFuture, "it was witnessed after now: one of the clocks is wrong"},
	{ReasonWithdrawn, "the trust policy revokes it"},
}

// Reasons returns every reason that a [Rejected] can have, in the order in which
// the steps give them.
func Reasons() []Reason {
	all := make([]Reason, len(reasons))
	for i, r := range reasons {
		all[i] = r.name
	}
	return all
}

// Doc says in a line what the reason means, or "" for what is no reason.
func (r Reason) Doc() string {
	for _, known := range reasons {
		if known.name == r {
			return known.doc
		}
	}
	return ""
}

// IsPolicy reports whether the evidence held and the trust policy refused: a
// reason that trying again does not change.
func (r Reason) IsPolicy() bool {
	switch r {
	case ReasonKindNotAllowed, ReasonWrongIdentity, ReasonTooFewAuthorities, ReasonBeyondLimits, ReasonUnknownKey,
		ReasonNoExpiry, ReasonExpired, ReasonLifetimeTooLong, ReasonNotYetValid, ReasonWithdrawn:
		return true
	default:
		return false
	}
}

// Rejected is a refusal.
type Rejected struct {
	Reason Reason
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
func (r *Rejected) Error() string { return r.Detail + " [" + string(r.Reason) + "]" }

// Unwrap returns the cause.
func (r *Rejected) Unwrap() error { return r.Cause }
