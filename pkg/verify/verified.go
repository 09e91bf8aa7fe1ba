package verify

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
)

// Verified is a document that passed every step. Only [Examination.At], [Verifier.Verify] and
// [Verifier.VerifyDetached] return one. The zero value has no message.
type Verified struct {
	message *exception.Document
	facts   Facts
}

// Message returns the signed document. Act on this document, not on the object.
func (v *Verified) Message() *exception.Document { return v.message }

// Signatures returns the evidence of every signature, in the order of the annotations.
func (v *Verified) Signatures() []Signature { return append([]Signature(nil), v.facts.Signatures...) }

// Facts returns all verified facts.
func (v *Verified) Facts() Facts {
	facts := v.facts
	facts.Signatures = v.Signatures()
	return facts
}

// ExpiresAt returns the time from which the document is expired. It is zero if the document never
// expires, which a trust policy must allow.
func (v *Verified) ExpiresAt() time.Time { return v.facts.ExpiresAt }

// StartsAt returns the time from which the document is valid, or zero.
func (v *Verified) StartsAt() time.Time { return v.facts.StartsAt }

// Signature is the evidence of one verified signature.
type Signature struct {
	// Authority is the name of the authority in the trust policy for which the signature counts, or
	// "" if it counts for none.
	Authority string
	// Identity is the identity in the certificate. It is zero for a key.
	Identity trust.Identity
	// WitnessedAt is the earliest time that a log or a timestamp authority proves. It is zero for a
	// key without a log.
	WitnessedAt time.Time
	// LogURL and LogIndex name the log entry. LogIndex is -1 without one.
	LogURL   string
	LogIndex int64
	// Witnesses are the logs and timestamp authorities that prove a time.
	Witnesses []Witness
	// Certificate is the signer's certificate; it is zero for a key.
	Certificate Certificate
	// Checked lists the verified evidence: certificate-chain, sct, signed-entry-timestamp,
	// inclusion-proof, timestamp, public-key.
	Checked []string

	key       *trust.Authority // an authority that has the key; nil for a certificate
	keyDigest [sha256.Size]byte
	unlogged  bool // made by a key, without any evidence
	// of lists the authorities that made the signature and are within their limits. It counts for
	// one of them at most.
	of []*trust.Authority
}

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
