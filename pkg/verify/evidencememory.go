package verify

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/polex-dev/polex/pkg/seal"
)

// maxProven is the maximum number of remembered signatures, enough for a large cluster. Each takes
// about 400 bytes. When the memory is full, it is cleared.
const maxProven = 1 << 13

// proven is the verified evidence of one signature. It depends neither on the current time nor on
// any part of the policy but its trusted root.
type proven struct {
	witnessedAt time.Time
	logURL      string
	logIndex    int64
	witnesses   []Witness
	checked     []string
	stamps      int // in its bundle; two of one second are one witness
}

func provenOf(s Signature, stamps int) proven {
	return proven{s.WitnessedAt, s.LogURL, s.LogIndex, slices.Clone(s.Witnesses), slices.Clone(s.Checked), stamps}
}

// signature returns the evidence in new slices.
func (p proven) signature() Signature {
	return Signature{WitnessedAt: p.witnessedAt, LogURL: p.logURL, LogIndex: p.logIndex,
		Witnesses: slices.Clone(p.witnesses), Checked: slices.Clone(p.checked)}
}

// Remember makes the verifier remember verified signatures under Fulcio certificates, with their
// messages and evidence, so that it does not verify the same bytes again. It remembers up to 8,192
// signatures, in about 3 MB. It takes over the memory of the verifier before if both trusted roots
// have the same bytes; before can be nil. The authorities, the message, its times and the
// revocations are always checked.
//
// Use it to verify the same objects again after a change of the trust policy. Call it before the
// first verification.
func (v *Verifier) Remember(before *Verifier) {
	switch {
	case v.keyless == nil:
	case before != nil && before.keyless != nil && before.keyless.proven != nil &&
		before.policy.Root().Same(v.policy.Root()):
		v.keyless = before.keyless // it depends on the root only
	default:
		v.keyless.proven = &memory[[sha256.Size]byte, proven]{}
	}
}

// digestOfSet returns the digest of a message's digest and a signature set. Each part is hashed with its
// length, or with -1 if it is absent, so two different sets have different digests.
func digestOfSet(message [sha256.Size]byte, s seal.Signature) [sha256.Size]byte {
	h := sha256.New()
	number := func(n int64) { _, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(n))) } //nolint:gosec // as a pattern of bits
	part := func(exists bool, raw []byte) {
		if !exists {
			number(-1)
			return
		}
		number(int64(len(raw)))
		_, _ = h.Write(raw)
	}
	part(true, message[:])
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
