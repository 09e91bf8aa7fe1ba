package verify

import (
	"crypto/sha256"
	"crypto/x509"
	"testing"
	"time"

	sgroot "github.com/sigstore/sigstore-go/pkg/root"

	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/test/expect"
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
		other, known := seen[digest]
		expect.That(t, !known, "%s has the digest of %s", name, other)
		seen[digest] = name
	}
}

// TestShared: a certificate is remembered for the time in which its authority and all of its chains are valid.
func TestShared(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	cert := func(from, to int) *x509.Certificate {
		return &x509.Certificate{NotBefore: day(from), NotAfter: day(to)}
	}
	for name, tc := range map[string]struct {
		authority  span
		chains     [][]*x509.Certificate
		first, end int
	}{
		"the leaf":                   {span{}, [][]*x509.Certificate{{cert(10, 11), cert(1, 20), cert(1, 30)}}, 10, 11},
		"an intermediate":            {span{}, [][]*x509.Certificate{{cert(5, 25), cert(9, 12), cert(1, 30)}}, 9, 12},
		"the root":                   {span{}, [][]*x509.Certificate{{cert(5, 25), cert(4, 26), cert(9, 12)}}, 9, 12},
		"the authority":              {span{day(9), day(12)}, [][]*x509.Certificate{{cert(5, 25), cert(1, 30)}}, 9, 12},
		"the start of the authority": {span{from: day(9)}, [][]*x509.Certificate{{cert(5, 25), cert(1, 30)}}, 9, 25},
		"two chains":                 {span{}, [][]*x509.Certificate{{cert(5, 25), cert(9, 30)}, {cert(5, 25), cert(1, 12)}}, 9, 12},
	} {
		ca := &sgroot.FulcioCertificateAuthority{ValidityPeriodStart: tc.authority.from, ValidityPeriodEnd: tc.authority.to}
		valid := shared(ca, tc.chains)
		for at, want := range map[time.Time]bool{
			day(tc.first).Add(-1): false, day(tc.first): true, day(tc.end): true, day(tc.end).Add(1): false,
		} {
			if valid.has(at) != want {
				t.Errorf("%s: valid from %s to %s, and at %s: %t", name, valid.from, valid.to, at, !want)
			}
		}
	}
}

// Evidence takes the steps 4 and 5 only, for published evidence of messages that are not documents.
func (v *Verifier) Evidence(message []byte, s seal.Signature) (Signature, error) {
	m := messageOf(message)
	c, err := v.claim(m, s)
	if err != nil {
		return Signature{}, err
	}
	return c.verify(m)
}

// Proven returns the number of remembered signatures.
func (v *Verifier) Proven() int {
	if v.keyless.proven == nil {
		return 0
	}
	return len(v.keyless.proven.held)
}

// ReadCertificate reads the certificate of a signer.
var ReadCertificate = readCertificate
