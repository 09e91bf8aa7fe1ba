package verify

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/polex-dev/polex/pkg/seal"
)

// maxProven is how many signatures are remembered: those of as many exceptions as a
// large cluster has. Each takes about 400 bytes. Beyond it, all is begun anew.
const maxProven = 1 << 13

// proven is what the evidence beside one signature has shown. Nothing of it depends on
// the time at which it is asked for, nor on anything of the policy but its trusted root.
type proven struct {
	witnessedAt time.Time
	logURL      string
	logIndex    int64
	witnesses   []Witness
	checked     []string
}

func provenOf(s Signature) proven {
	return proven{s.WitnessedAt, s.LogURL, s.LogIndex, slices.Clone(s.Witnesses), slices.Clone(s.Checked)}
}

// signature is what was proven, in slices that are nobody else's.
func (p proven) signature() Signature {
	return Signature{WitnessedAt: p.witnessedAt, LogURL: p.logURL, LogIndex: p.logIndex, Witnesses: slices.Clone(p.witnesses), Checked: slices.Clone(p.checked)}
}

// Remember has the verifier remember each message with a signature under a Fulcio
// certificate, and all evidence beside it, once it was verified, so that the same bytes
// are not verified again: up to 8,192, in about 3 MB. What another verifier remembers
// is taken over where its trusted root has the same bytes; before may be nil. Who is
// trusted for what, the message, its times and what was revoked are judged every time.
//
// It is for whoever judges the same objects again when the trust policy has changed, and
// has to be called before anything is verified.
func (v *Verifier) Remember(before *Verifier) {
	switch {
	case v.keyless == nil:
	case before != nil && before.keyless != nil && before.keyless.proven != nil && before.policy.Root().Same(v.policy.Root()):
		v.keyless = before.keyless // which is made of the root alone
	default:
		v.keyless.proven = &memory[[sha256.Size]byte, proven]{}
	}
}

// digestOfSet tells a message and all that stands beside it from all others. Each part
// goes in with its length, and with whether it is there.
func digestOfSet(message []byte, s seal.Signature) [sha256.Size]byte {
	h := sha256.New()
	number := func(n int64) { _, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(n))) } //nolint:gosec // as a pattern of bits
	part := func(there bool, raw []byte) {
		if !there {
			number(-1)
			return
		}
		number(int64(len(raw)))
		_, _ = h.Write(raw)
	}
	part(true, message)
	part(true, s.Signature)
	part(s.Certificate != nil, s.Certificate)
	part(s.BundleV03 != nil, s.BundleV03)
	part(s.Bundle != nil, nil)
	if b := s.Bundle; b != nil {
		part(true, b.SignedEntryTimestamp)
		part(true, []byte(b.Payload.Body))
		part(true, []byte(b.Payload.LogID))
		number(b.Payload.IntegratedTime)
		number(b.Payload.LogIndex)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
