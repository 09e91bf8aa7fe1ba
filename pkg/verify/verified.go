package verify

import (
	"crypto/sha256"
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
func (v *Verified) Signatures() []Signature {
	return append([]Signature(nil), v.facts.Signatures...)
}

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
