package verify

// Reason is the stable name of a refusal. The same word stands in text, JSON,
// SARIF, admission messages, metric labels and the documentation.
type Reason string

// The reasons, in the order in which the steps can give them.
const (
	ReasonKindNotAllowed Reason = "kind-not-allowed" // the trust policy does not speak of the kind
	ReasonUnsigned       Reason = "unsigned"         // there is no seal
	ReasonMalformedSeal  Reason = "malformed-seal"   // an annotation is missing, superfluous or unreadable
	ReasonBadMessage     Reason = "malformed-message"

	ReasonBadCertificate       Reason = "bad-certificate"       // not a certificate with one name and one issuer
	ReasonNoLogEntry           Reason = "no-log-entry"          // the evidence holds no entry, though the root names a log
	ReasonUnsupportedLogEntry  Reason = "unsupported-log-entry" // of another kind than hashedrekord
	ReasonLogEntryMismatch     Reason = "log-entry-mismatch"    // about another signature, message or key
	ReasonEvidenceMismatch     Reason = "evidence-mismatch"     // the two forms of evidence disagree
	ReasonBadSignature         Reason = "bad-signature"         // not over these bytes by this key
	ReasonUnprovenLogEntry     Reason = "unproven-log-entry"    // no trusted log vouches for the entry
	ReasonNoWitnessedTime      Reason = "no-witnessed-time"     // nobody trusted says when it was signed
	ReasonUntrustedCertificate Reason = "untrusted-certificate" // no chain to the root
	ReasonCertificateNotValid  Reason = "certificate-not-valid" // signed outside of the certificate's validity
	ReasonNoSCT                Reason = "no-sct"                // no trusted certificate log vouches for the certificate
	ReasonUnknownKey           Reason = "unknown-key"           // a signature without certificate, by no key of the policy
	ReasonBadEvidence          Reason = "bad-evidence"          // sigstore-go refuses it for another reason
	ReasonWrongIdentity        Reason = "wrong-identity"        // signed, by nobody that the policy names
	ReasonTooFewAuthorities    Reason = "too-few-authorities"   // signed by some, but not by enough
	ReasonAltered              Reason = "altered"               // the object is not what was signed
	ReasonBadLifetime          Reason = "bad-lifetime"          // its times cannot be read
	ReasonNoExpiry             Reason = "no-expiry"             // an exception without an end
	ReasonExpired              Reason = "expired"               // its end has come
	ReasonLifetimeTooLong      Reason = "lifetime-too-long"     // its end is too far from the signing
	ReasonNotYetValid          Reason = "not-yet-valid"         // its start has not come
	ReasonSignedInFuture       Reason = "signed-in-the-future"  // witnessed after now: one of the clocks is wrong
	ReasonWithdrawn            Reason = "withdrawn"             // the trust policy revokes it
)

// IsPolicy reports whether the evidence held and the trust policy refused: a
// reason that trying again does not change.
func (r Reason) IsPolicy() bool {
	switch r {
	case ReasonKindNotAllowed, ReasonWrongIdentity, ReasonTooFewAuthorities, ReasonUnknownKey,
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
