package verify

import (
	"crypto/sha256"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
)

// Verified is a document that passed every step. Only [Examination.At] makes one, also
// for [Verifier.Verify] and [Verifier.VerifyDetached]; its zero value says nothing.
type Verified struct {
	message *exception.Document
	facts   Facts
}

// Message returns the document that was signed: what may be acted upon.
func (v *Verified) Message() *exception.Document { return v.message }

// Signatures returns the evidence of every signature, in the seal's order.
func (v *Verified) Signatures() []Signature {
	return append([]Signature(nil), v.facts.Signatures...)
}

// Facts returns everything that was verified.
func (v *Verified) Facts() Facts {
	facts := v.facts
	facts.Signatures = v.Signatures()
	return facts
}

// ExpiresAt returns the moment from which the document no longer counts; it is
// zero when it never expires, which only some policies allow.
func (v *Verified) ExpiresAt() time.Time { return v.facts.ExpiresAt }

// StartsAt returns the moment from which the document counts, zero for always.
func (v *Verified) StartsAt() time.Time { return v.facts.StartsAt }

// Signature is the evidence of one verified signature.
type Signature struct {
	// Authority is the name of the trust policy's authority it counts for, or
	// "" when it counts for none.
	Authority string
	// Identity is whom the certificate names; it is zero for a key. Its issuer is
	// empty for a certificate of the policy's own certificate authorities.
	Identity trust.Identity
	// WitnessedAt is the time that a log or a timestamp authority vouches for;
	// it is zero for a key without a log.
	WitnessedAt time.Time
	// LogURL and LogIndex name the log entry; LogIndex is -1 without one.
	LogURL   string
	LogIndex int64
	// Witnesses are who vouches for a time; the earliest is WitnessedAt.
	Witnesses []Witness
	// Certificate is the one that signed; it is zero for a key.
	Certificate Certificate
	// Checked names the evidence that was verified: certificate-chain, sct,
	// signed-entry-timestamp, inclusion-proof, timestamp, public-key.
	Checked []string

	key       *trust.Authority // one that has the key; nil for a certificate
	keyDigest [sha256.Size]byte
	unlogged  bool // by a key, and nothing beside it
	// of are the authorities whose signature it is, within their limits. It counts
	// for one of them at most.
	of []*trust.Authority
}
