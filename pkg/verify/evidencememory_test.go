package verify

import (
	"crypto/sha256"
	"testing"

	"github.com/polex-dev/polex/pkg/seal"
)

// TestDigestOfSet: changing, removing, adding or shifting any part of a signature set changes the
// digest. Otherwise evidence would count for another signature.
func TestDigestOfSet(t *testing.T) {
	type set struct {
		message string
		seal.Signature
	}
	bundle := func(change func(*seal.RekorBundle)) *seal.RekorBundle {
		b := &seal.RekorBundle{SignedEntryTimestamp: []byte("p"), Payload: seal.RekorPayload{Body: "b", LogID: "l", IntegratedTime: 1, LogIndex: 2}}
		change(b)
		return b
	}
	with := func(change func(*set)) set {
		s := set{"m", seal.Signature{Signature: []byte("s"), Certificate: []byte("c"), BundleV03: []byte("v"), Bundle: bundle(func(*seal.RekorBundle) {})}}
		change(&s)
		return s
	}
	seen := map[[sha256.Size]byte]string{}
	for name, s := range map[string]set{
		"as it is":                 with(func(*set) {}),
		"another message":          with(func(s *set) { s.message = "n" }),
		"another signature":        with(func(s *set) { s.Signature.Signature = []byte("t") }),
		"another certificate":      with(func(s *set) { s.Certificate = []byte("d") }),
		"no certificate":           with(func(s *set) { s.Certificate = nil }),
		"an empty certificate":     with(func(s *set) { s.Certificate = []byte{} }),
		"another bundle v0.3":      with(func(s *set) { s.BundleV03 = []byte("w") }),
		"no bundle v0.3":           with(func(s *set) { s.BundleV03 = nil }),
		"an empty bundle v0.3":     with(func(s *set) { s.BundleV03 = []byte{} }),
		"no bundle":                with(func(s *set) { s.Bundle = nil }),
		"an empty bundle":          with(func(s *set) { s.Bundle = &seal.RekorBundle{} }),
		"another promise":          with(func(s *set) { s.Bundle = bundle(func(b *seal.RekorBundle) { b.SignedEntryTimestamp = []byte("q") }) }),
		"another body":             with(func(s *set) { s.Bundle = bundle(func(b *seal.RekorBundle) { b.Payload.Body = "c" }) }),
		"another log":              with(func(s *set) { s.Bundle = bundle(func(b *seal.RekorBundle) { b.Payload.LogID = "m" }) }),
		"another time":             with(func(s *set) { s.Bundle = bundle(func(b *seal.RekorBundle) { b.Payload.IntegratedTime = 3 }) }),
		"another index":            with(func(s *set) { s.Bundle = bundle(func(b *seal.RekorBundle) { b.Payload.LogIndex = 3 }) }),
		"message in the signature": with(func(s *set) { s.message, s.Signature.Signature = "ms", nil }),
		"body in the log": with(func(s *set) {
			s.Bundle = bundle(func(b *seal.RekorBundle) { b.Payload.Body, b.Payload.LogID = "bl", "" })
		}),
	} {
		digest := digestOfSet(sha256.Sum256([]byte(s.message)), s.Signature)
		if other, known := seen[digest]; known {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[digest] = name
	}
}
