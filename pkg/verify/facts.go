package verify

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// Facts are the verified facts about a document, to explain an answer. Those of a rejection were
// verified before it, and everything else is unchecked. A rejected document is not valid because of
// them.
type Facts struct {
	// MessageDigest is "sha256:" and the hexadecimal digest of the signed message, the form of the
	// revoked list in a trust policy. It is "" until a signature over the message is verified.
	MessageDigest string
	// Signatures are the verified signatures, in the order of the annotations. Their field
	// Authority is set after all of them are verified.
	Signatures []Signature
	// Renewal names the exception that the message renews, and Approvals the approvers in its
	// review record. The signers state both. They are zero if the message does not state them, or
	// not in a readable form.
	Renewal   exception.Renewal
	Approvals exception.Approvals
	// StartsAt and ExpiresAt limit the validity of the message. They are zero if there is no limit,
	// and if the lifetime was not checked.
	StartsAt, ExpiresAt time.Time
}

// Certificate describes a verified certificate.
type Certificate struct {
	Fingerprint         string // "sha256:" and the hexadecimal digest of its DER
	NotBefore, NotAfter time.Time
}

// The kinds of [Witness].
const (
	WitnessLog       = "transparency-log"
	WitnessTimestamp = "timestamp-authority"
)

// Witness is a log or a timestamp authority of the trusted root that proves the time of a
// signature.
type Witness struct {
	Kind string // [WitnessLog] or [WitnessTimestamp]
	URL  string // as in the trusted root; can be ""
	At   time.Time
}

func certificateOf(cert *x509.Certificate) Certificate {
	return Certificate{Fingerprint: digestOf(cert.Raw), NotBefore: cert.NotBefore, NotAfter: cert.NotAfter}
}

func digestOf(raw []byte) string {
	digest := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(digest[:])
}
