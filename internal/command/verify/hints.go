package verify

import "github.com/polex-dev/polex/pkg/verify"

// hints are the hints for rejections that do not explain themselves.
var hints = map[string]string{
	verify.ReasonUnsigned:   "sign it with polex-sign, or let the merge workflow promote it",
	verify.ReasonAltered:    "restore the file that was signed, or have the change reviewed and signed again",
	verify.ReasonBadMessage: "remove the annotations under cosign.sigstore.dev/ and sign the file again",
	verify.ReasonWrongIdentity: "if you trust this signer, add it to trust.authorities; if not, have a " +
		"trusted signer sign",
	verify.ReasonUnknownKey: "if you trust the key, add it to trust.authorities or pass it with --key; if " +
		"not, have a trusted signer sign",
	verify.ReasonMalformedSignature: "restore the file that was signed",
	verify.ReasonEvidenceMismatch:   "restore the file that was signed",
	verify.ReasonLifetimeTooLong:    "have an exception with a shorter lifetime reviewed and signed",
	verify.ReasonBeyondLimits:       "narrow it to the limits of its signer, or have an authority sign that may",
	verify.ReasonRenewalNotAllowed:  "request a new exception instead of a renewal",
	verify.ReasonExpired:            "remove it, or have a renewal reviewed and signed",
	verify.ReasonNoExpiry:           "have it signed with an expiry, or pass --allow-unbounded",
	verify.ReasonUntrustedCertificate: "if a private Sigstore signed it, name its root with --trusted-root or " +
		"trust.trustedRoot",
	verify.ReasonUnprovenLogEntry: "if a private Sigstore signed it, name its root with --trusted-root or " +
		"trust.trustedRoot",
	verify.ReasonNoLogEntry: "sign it again with polex-sign, which adds the entry; for a key without a log, set " +
		"insecureWithoutLog in trust.authorities",
	verify.ReasonKindNotAllowed: "name the kind with --kinds Kind.group, or in the trust policy",
	verify.ReasonSignedInFuture: "set the clock of this machine",
}
