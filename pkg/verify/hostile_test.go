package verify_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/fulcio/pkg/certificate"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/verify"
)

// hostile returns the documents that cost most, by name. Anybody can write them: no signer of the trust policy signed
// one, and the evidence of their signatures is valid where that costs more.
func hostile(t testing.TB) map[string][]byte {
	t.Helper()
	w := inWorld(t)
	large := []byte(strings.Repeat("x", exception.MaxDocument))
	signed := func(message []byte, one func(key *ecdsa.PrivateKey) set, curve elliptic.Curve) []byte {
		s := &seal.Seal{Message: message}
		for range seal.MaxSignatures {
			key, err := ecdsa.GenerateKey(curve, rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			stranger := one(key)
			stranger.identity = func(e *certificate.Extensions) { e.Issuer = w.OtherIssuerURL }
			s.Signatures = append(s.Signatures, w.sign(t, message, stranger))
		}
		return attach(t, parse(t, w.until(week)), s).Source()
	}
	logged := func(key *ecdsa.PrivateKey) set { return set{key: key} }
	stamps := []time.Time{w.now, w.now.Add(time.Second), w.now.Add(2 * time.Second), w.now.Add(3 * time.Second)}
	stamped := func(key *ecdsa.PrivateKey) set { return set{key: key, onlyV03: true, stamps: stamps} }
	documents := map[string][]byte{
		"P-256": signed(large, logged, elliptic.P256()), "P-384": signed(large, logged, elliptic.P384()),
		"P-521": signed(large, logged, elliptic.P521()), "timestamps": signed(large, stamped, elliptic.P521()),
		"Rekor 2": signed(large, func(key *ecdsa.PrivateKey) set { return set{v2: true, key: key, stamps: stamps} }, elliptic.P521()),
		"certificates": signed(large, func(key *ecdsa.PrivateKey) set {
			s := stamped(key)
			s.v03 = certifiedTimestamps(t)
			return s
		}, elliptic.P521()),
		"gzip": packedTo(t, w),
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
		"levels":          list(strings.Repeat("[", 50)+strings.Repeat("]", 50), 150),
		"numbers":         list(strings.Repeat("1", 999)+"x", 1000),
		"times":           list("2020-01-01 00:00:00."+strings.Repeat("1", 100), 4000),
		"escapes":         `"` + strings.Repeat(`\x41`, 250_000) + `"`,
		"words":           strings.Repeat("x ", 500_000),
		"an unusual text": `"` + strings.Repeat("é", 500_000) + `"`, "less of it": `"` + strings.Repeat("é", 135_000) + `"`,
		"few floats": list("1e5", 2900), "some words": strings.Repeat("x ", 99_000),
		"a folded text": ">\n" + strings.Repeat("    "+strings.Repeat("é ", 40)+"\n", 6000),
		"comments":      "1\n" + strings.Repeat("  # é\n", 5000),
	}
}

// certifiedTimestamps adds certificates with slow keys to each timestamp.
func certifiedTimestamps(t testing.TB) func(*protobundle.Bundle) {
	key, err := rsa.GenerateKey(rand.Reader, 4096)
	if err != nil {
		t.Fatal(err)
	}
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
		annotations := object{"cosign.sigstore.dev/message": packed(t, strings.Repeat("x", exception.MaxDocument))}
		for i := range seal.MaxSignatures {
			suffix := map[bool]string{true: fmt.Sprintf("_%d", i)}[i > 0]
			annotations["cosign.sigstore.dev/signature"+suffix] = "AAAA"
			annotations["cosign.sigstore.dev/bundle.v0.3"+suffix] = bundle
		}
		dig(t, root, "metadata")["annotations"] = annotations
	})
	text, err := exception.Canonical(doc.Object())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// verifyHostile reads and verifies a document with a verifier that remembers nothing of it.
func verifyHostile(t testing.TB, w *world, source []byte) {
	v := w.verifier(t, nil, nil)
	doc, err := exception.Parse(source, "hostile.yaml")
	if err == nil {
		_, err = v.Verify(doc, w.now)
	}
	if err == nil {
		t.Fatal("it is accepted")
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

// BenchmarkHostile measures the time of a hostile document, which is at most 50 ms on a processor of its own.
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
