package verify_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/fulcio/pkg/certificate"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
)

// hostile returns the documents that cost most, by name. Anybody can write them: no signer of the trust policy signed
// one, and the evidence of their signatures is valid where that costs more.
func hostile(t testing.TB) map[string][]byte {
	t.Helper()
	w := inWorld(t)
	large, small := []byte(strings.Repeat("x", 1<<20)), []byte(w.until(day))
	signed := func(message []byte, n int, curve elliptic.Curve, one func(key *ecdsa.PrivateKey) set, trusted ...set) []byte {
		s := &seal.Seal{Message: message}
		for _, own := range trusted {
			s.Signatures = append(s.Signatures, w.sign(t, message, own))
		}
		for range n {
			key := expect.Value(ecdsa.GenerateKey(curve, rand.Reader))(t)
			stranger := one(key)
			stranger.key, stranger.identity = key, func(e *certificate.Extensions) { e.Issuer = w.OtherIssuerURL }
			s.Signatures = append(s.Signatures, w.sign(t, message, stranger))
		}
		return attach(t, parse(t, w.until(week)), s).Source()
	}
	all := func(curve elliptic.Curve, one set) []byte {
		return signed(large, seal.MaxSignatures, curve, func(*ecdsa.PrivateKey) set { return one })
	}
	stamps := []time.Time{w.now, w.now.Add(time.Second), w.now.Add(2 * time.Second), w.now.Add(3 * time.Second)}
	stamped, once, one := set{onlyV03: true, stamps: stamps}, set{onlyV03: true, stamps: stamps[:1]}, func(s set) func(*ecdsa.PrivateKey) set {
		return func(*ecdsa.PrivateKey) set { return s }
	}
	documents := map[string][]byte{
		"P-256": all(elliptic.P256(), set{}), "P-384": all(elliptic.P384(), set{}), "P-521": all(elliptic.P521(), set{}),
		"timestamps":   all(elliptic.P521(), set{onlyV03: true, stamps: stamps[:1]}),
		"Rekor 2":      all(elliptic.P521(), set{v2: true, stamps: stamps[:1]}),
		"certificates": all(elliptic.P521(), set{onlyV03: true, stamps: stamps, v03: certifiedTimestamps(t)}),
		"hashes":       all(elliptic.P521(), set{onlyV03: true, v03: longHashes}),
		"gzip":         packedTo(t, w),
		// A false certificate with the name of a trusted signer.
		"a false name": all(elliptic.P521(), set{certificate: w.selfIssue(t, nil)}),
		// One signature, which is verified to explain who made it.
		"one signature":  signed(large, 1, elliptic.P521(), one(once)),
		"its timestamps": signed(large, 1, elliptic.P521(), one(stamped)),
		// The signature of a trusted signer, from a published document, with what anybody can add to it.
		"strangers beside":      signed(small, seal.MaxSignatures-1, elliptic.P521(), one(set{}), set{}),
		"few strangers beside":  signed(small, 2, elliptic.P384(), one(once), once),
		"slow strangers beside": signed(small, 2, elliptic.P521(), one(once), once),
		"timestamps beside":     signed(small, 0, nil, nil, stamped),
		"stamped strangers":     signed(small, 1, elliptic.P521(), one(stamped), stamped),
	}
	for name, text := range hostileTexts() {
		documents[name] = []byte(replaced(t, w.until(week), "spec:\n", "spec:\n  x: "+text+"\n"))
	}
	return documents
}

// hostileTexts returns values of YAML that cost the readers most.
func hostileTexts() map[string]string {
	list := func(item string, n int) string { return "[" + strings.Repeat(item+",", n) + "1]" }
	var keys strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&keys, "k%d: 1,", i)
	}
	return map[string]string{
		"values": list("1", 9000), "keys": "{" + keys.String() + "}", "floats": list("1e5", 9000),
		"levels":  list(strings.Repeat("[", 50)+strings.Repeat("]", 50), 150),
		"numbers": list(strings.Repeat("1", 999)+"x", 1000),
		"times":   list("2020-01-01 00:00:00."+strings.Repeat("1", 100), 4000),
		"escapes": `"` + strings.Repeat(`\x41`, 99_000) + `"`, "many escapes": `"` + strings.Repeat(`\x41`, 128_000) + `"`,
		"quotes": `'` + strings.Repeat(`''`, 49_000) + `'`, "many quotes": `'` + strings.Repeat(`''`, 250_000) + `'`,
		"words":           strings.Repeat("x ", 250_000),
		"an unusual text": `"` + strings.Repeat("é", 250_000) + `"`, "less of it": `"` + strings.Repeat("é", 76_000) + `"`,
		"few floats": list("1e5", 1150), "long floats": list("1."+strings.Repeat("1", 30), 950),
		"all of it":          "[" + strings.Repeat("1."+strings.Repeat("1", 30)+",", 450) + `"` + strings.Repeat("é ", 2_700) + strings.Repeat("é", 14_000) + `"]`,
		"text":               strings.Repeat("x", 500_000),
		"some words":         strings.Repeat("x ", 99_000),
		"a folded text":      ">\n" + strings.Repeat("    "+strings.Repeat("é ", 40)+"\n", 4000),
		"some unusual words": strings.Repeat("é ", 8_000), "few times": list("2020-01-01 00:00:00."+strings.Repeat("1", 50), 330),
		"less folded": ">\n" + strings.Repeat("    "+strings.Repeat("é ", 10)+"\n", 1040),
		"comments":    "1\n" + strings.Repeat("  # é\n", 3300),
	}
}

// longHashes makes the hashes of a proof as long as a bundle can be.
func longHashes(b *protobundle.Bundle) {
	b.VerificationMaterial.TlogEntries[0].InclusionProof.Hashes = slices.Repeat([][]byte{bytes.Repeat([]byte("x"), 2900)}, 64)
}

// certifiedTimestamps adds certificates with slow keys to each timestamp.
func certifiedTimestamps(t testing.TB) func(*protobundle.Bundle) {
	key := expect.Value(rsa.GenerateKey(rand.Reader, 4096))(t)
	return func(b *protobundle.Bundle) {
		for _, stamp := range b.VerificationMaterial.TimestampVerificationData.Rfc3161Timestamps {
			stamp.SignedTimestamp = editedTimestamp(t, stamp.SignedTimestamp, func(t testing.TB, signed *der) {
				for range 3 {
					signed.addCertificate(t, &key.PublicKey)
				}
			})
		}
	}
}

// packedTo returns a document whose annotations unpack to the most bytes.
func packedTo(t testing.TB, w *world) []byte {
	bundle := packed(t, strings.Repeat("x", 250<<10))
	doc := edited(t, w.honest, func(root object) {
		annotations := object{"cosign.sigstore.dev/message": packed(t, strings.Repeat("x", 1<<20))}
		for i := range seal.MaxSignatures {
			suffix := map[bool]string{true: fmt.Sprintf("_%d", i)}[i > 0]
			annotations["cosign.sigstore.dev/signature"+suffix] = "AAAA"
			annotations["cosign.sigstore.dev/bundle.v0.3"+suffix] = bundle
		}
		dig(t, root, "metadata")["annotations"] = annotations
	})
	return expect.Value(exception.Canonical(doc.Object()))(t)
}

// verifyHostile reads and verifies a document with a verifier that remembers nothing of it.
func verifyHostile(t testing.TB, w *world, source []byte) {
	v := w.verifier(t, nil, nil)
	if doc, err := exception.Parse(source, "hostile.yaml"); err == nil {
		expect.Failure(v.Verify(doc, w.now))(t)
	}
}

// TestHostile: a hostile document takes a limited amount of memory.
func TestHostile(t *testing.T) {
	w := inWorld(t)
	for name, source := range hostile(t) {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			verifyHostile(t, w, source)
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > mostAllocated {
				t.Errorf("it allocates %d bytes", used)
			}
		})
	}
}

// BenchmarkHostile measures the time of a hostile document, which is at most 20 ms on a processor of its own: two
// processors verify 100 in a second.
func BenchmarkHostile(b *testing.B) {
	w := inWorld(b)
	for name, source := range hostile(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				verifyHostile(b, w, source)
			}
		})
	}
}

// TestTimestampsOfADocument: the timestamps of all signatures have a limit, since each costs a certificate chain.
func TestTimestampsOfADocument(t *testing.T) {
	w := inWorld(t)
	stamped := set{v2: true, stamps: []time.Time{w.now, w.now.Add(time.Second), w.now.Add(2 * time.Second), w.now.Add(3 * time.Second)}}
	one := set{v2: true, stamps: []time.Time{w.now}}
	for want, sets := range map[string][]set{"": {stamped, stamped}, verify.ReasonBadEvidence: {stamped, stamped, one}} {
		if got := reasonOf(t, w, w.sealed(t, w.until(week), sets...), nil, w.now.Add(time.Minute)); got != want {
			t.Errorf("%d signatures: %q, want %q", len(sets), got, want)
		}
	}
}

// TestClaimsOfALongCertificate: the early look accepts a certificate whose authority ends before it.
func TestClaimsOfALongCertificate(t *testing.T) {
	w := inWorld(t)
	ending := func(root object) {
		dig(t, root, "certificateAuthorities", 0, "validFor")["end"] = w.now.Add(time.Minute).UTC().Format(time.RFC3339)
	}
	expect.Value(w.verifier(t, nil, ending).Verify(w.sealed(t, w.until(week), set{}, set{}), w.now))(t)
}

// TestClaims: what no trusted signer can have made is rejected before an operation with the key of a certificate, and
// the signatures of other signers beside those of trusted ones have a limit.
func TestClaims(t *testing.T) {
	w := inWorld(t)
	stranger := func(s set) set {
		s.identity = func(e *certificate.Extensions) { e.Issuer = w.OtherIssuerURL }
		return s
	}
	slow := must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader))
	stamps := slices.Repeat([]time.Time{w.now}, 4)
	garbage, falseName := []byte("x"), set{certificate: w.selfIssue(t, nil)}
	for name, tc := range map[string]struct {
		sets         []set
		want, detail string
	}{
		"two strangers beside a trusted signer":   {sets: []set{stranger(set{}), {}, stranger(set{})}},
		"three strangers beside a trusted signer": {[]set{{}, stranger(set{}), stranger(set{}), stranger(set{})}, verify.ReasonWrongIdentity, "3 signatures name"},
		"a slow stranger beside a trusted signer": {[]set{{}, stranger(set{key: slow})}, verify.ReasonWrongIdentity, "its key is P-521"},
		"a slow key of a trusted signer":          {sets: []set{{key: slow}, {}}},
		"a timestamp for each, and a stranger":    {sets: []set{{stamps: stamps[:2]}, stranger(set{})}},
		"more timestamps, and a stranger":         {[]set{{stamps: stamps[:2]}, stranger(set{stamps: stamps[:1]})}, verify.ReasonWrongIdentity, "one timestamp"},
		"strangers with bad signatures":           {[]set{stranger(set{signature: garbage}), stranger(set{signature: garbage})}, verify.ReasonWrongIdentity, "signer is not trusted"},
		"a stranger with many timestamps":         {[]set{stranger(set{signature: garbage, stamps: stamps})}, verify.ReasonWrongIdentity, "signer is not trusted"},
		"one stranger with a bad signature":       {[]set{stranger(set{signature: garbage})}, verify.ReasonBadSignature, "not over this message"},
		"a false name behind a bad signature":     {[]set{{signature: garbage}, falseName}, verify.ReasonUntrustedCertificate, "signature 1: the certificate was not issued"},
		"a bad signature behind a false name":     {[]set{falseName, {signature: garbage}}, verify.ReasonUntrustedCertificate, "signature 0: the certificate was not issued"},
	} {
		t.Run(name, func(t *testing.T) {
			verified, err := w.verifier(t, nil, nil).Verify(w.sealed(t, w.until(week), tc.sets...), w.now)
			if rejected := answers(t, verified, err, tc.want, tc.detail); rejected != nil && len(rejected.Facts.Signatures) > 0 {
				t.Errorf("the facts are %+v, and nothing was verified", rejected.Facts)
			}
		})
	}
}
