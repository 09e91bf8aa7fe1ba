package verify_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protodsse "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/must"
)

// costlyVerdicts are about lists in the evidence. Each has a limit, and evidence at the limit is verified as before.
// Without the limit, each item costs a library a signature verification or a parse. The corpus has none of them.
func costlyVerdicts(t *testing.T, w *world) []verdict {
	now := []time.Time{w.now}
	second := func(n int) time.Time { return w.now.Add(time.Duration(n) * time.Second) }
	four := []time.Time{w.now, second(1), second(2), second(3)}
	early, after := w.now.Add(-time.Minute), w.now.Add(time.Hour)
	malformed, evidence, certificate, entryReason := verify.ReasonMalformedSignature, verify.ReasonBadEvidence, verify.ReasonBadCertificate, verify.ReasonUnsupportedLogEntry
	v1 := func(bend func(*protobundle.Bundle)) set { return set{onlyV03: true, v03: bend} }
	v2 := func(bend func(*protobundle.Bundle)) set { return set{v2: true, stamps: now, v03: bend} }
	signatures := func(n int) func(*protobundle.Bundle) {
		return func(b *protobundle.Bundle) {
			c := entry(b).InclusionProof.Checkpoint
			lines := strings.SplitAfter(c.Envelope, "\n")
			c.Envelope += strings.Repeat(lines[len(lines)-2], n-1)
		}
	}
	witnesses := func(n int) func(*protobundle.Bundle) {
		return func(b *protobundle.Bundle) {
			for i := range n {
				entry(b).InclusionProof.Checkpoint.Envelope += fmt.Sprintf("\u2014 witness%d.example AAAAAAAAAAAA\n", i)
			}
		}
	}
	hashes := func(n int) func(*protobundle.Bundle) {
		return func(b *protobundle.Bundle) { entry(b).InclusionProof.Hashes = make([][]byte, n) }
	}
	body := func(text string) func(*protobundle.Bundle) {
		return func(b *protobundle.Bundle) { entry(b).CanonicalizedBody = []byte(text) }
	}
	stamped := func(edit func(t testing.TB, signed *der)) set {
		return v2(func(b *protobundle.Bundle) {
			stamp := b.VerificationMaterial.TimestampVerificationData.Rfc3161Timestamps[0]
			stamp.SignedTimestamp = editedTimestamp(t, stamp.SignedTimestamp, edit)
		})
	}
	extended := func(n, size int, id ...int) set {
		return set{fulcio: func(f *sandbox.Forgery) {
			for i := range n {
				f.Template.ExtraExtensions = append(f.Template.ExtraExtensions, pkix.Extension{
					Id: append(asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 99999, i}, id...), Value: make([]byte, size)})
			}
		}}
	}
	selfIssued := func(public any) set {
		return set{certificate: func(key *ecdsa.PrivateKey) []byte {
			template := w.forgery(t, key, nil).Template
			template.SerialNumber = big.NewInt(1)
			return must.Get(x509.CreateCertificate(rand.Reader, template, template, public, signing{key}))(t)
		}}
	}
	// A timestamp that anybody can make, beside a certificate that anybody can make.
	junk := func(stamp []byte) set {
		return set{onlyV03: true, selfSigned: asFulcio, v03: func(b *protobundle.Bundle) { addStamp(b, stamp) }}
	}
	nested := must.Get(asn1.Marshal(asn1.RawValue{Tag: asn1.TagSequence, IsCompound: true}))(t)
	for range 40 {
		nested = must.Get(asn1.Marshal(asn1.RawValue{Tag: asn1.TagSequence, IsCompound: true, Bytes: nested}))(t)
	}
	var out []verdict
	for _, tc := range []struct {
		name   string
		set    set
		reason string // "" if it is verified
		detail string
	}{
		{"a checkpoint of Rekor 1 with two signatures", v1(signatures(2)), malformed, "the checkpoint has 2 signatures"},
		{"a checkpoint of Rekor 1 with the most lines", v1(signatures(500)), malformed, "the checkpoint has more than"},
		{"a checkpoint of Rekor 1 with two signatures, by a stranger", set{onlyV03: true, selfSigned: asFulcio, v03: signatures(2)}, malformed, "the checkpoint has 2 signatures"},
		{"a checkpoint of Rekor 2 with 16 signatures", v2(signatures(16)), "", ""},
		{"a checkpoint of Rekor 2 with 17 signatures", v2(signatures(17)), malformed, "the checkpoint has 17 signatures"},
		{"a checkpoint of Rekor 2 with 15 witnesses", v2(witnesses(15)), "", ""},
		{"a checkpoint of Rekor 2 with 16 witnesses", v2(witnesses(16)), malformed, "the checkpoint has 17 signatures"},
		{"a checkpoint with many other lines", v2(func(b *protobundle.Bundle) {
			c := entry(b).InclusionProof.Checkpoint
			c.Envelope = strings.Repeat("x\n", 30) + c.Envelope
		}), malformed, "the checkpoint has more than"},
		{"a checkpoint with a long line", v2(func(b *protobundle.Bundle) {
			entry(b).InclusionProof.Checkpoint.Envelope += strings.Repeat("x", 64<<10)
		}), malformed, "the checkpoint has more than"},
		{"a proof with 65 hashes", v1(hashes(65)), malformed, "the proof of the log entry has 65 hashes"},
		{"two log entries, counted", v1(twoEntries), malformed, "there are 2 log entries"},
		{"a log entry of many values", v1(body(`{"x":[` + strings.Repeat("1,", 30_000) + `1]}`)), entryReason, "the log entry has more than"},
		{"a log entry of a long value", v1(body(`{"x":"` + strings.Repeat("x", 64<<10) + `"}`)), entryReason, "the log entry has more than"},
		{"a bundle of many values", v1(hashes(2001)), malformed, "the bundle has more than 2000 values"},
		{"a chain of certificates", v1(chained(make([]*protocommon.X509Certificate, 600)...)), verify.ReasonEvidenceMismatch, "another certificate"},
		{"an envelope", v1(func(b *protobundle.Bundle) {
			b.Content = &protobundle.Bundle_DsseEnvelope{DsseEnvelope: &protodsse.Envelope{Signatures: make([]*protodsse.Signature, 600)}}
		}), malformed, "no message signature"},

		{"a timestamp", stamped(func(testing.TB, *der) {}), "", ""},
		{"a timestamp with two signers", stamped(func(_ testing.TB, signed *der) {
			signers := signed.parts[len(signed.parts)-1]
			signers.parts = append(signers.parts, signers.parts[0])
		}), evidence, "2 signers"},
		{"a timestamp with five certificates", stamped(func(t testing.TB, signed *der) {
			for range 5 {
				signed.addCertificate(t, newKey().Public())
			}
		}), evidence, "certificates, and expected are one signer and at most 4"},
		{"a timestamp with a certificate of a huge key", stamped(func(t testing.TB, signed *der) {
			modulus := new(big.Int).Lsh(big.NewInt(1), 64_000)
			signed.addCertificate(t, &rsa.PublicKey{N: modulus.Add(modulus, big.NewInt(1)), E: 65537})
		}), evidence, "RSA of 64001 bits"},
		{"a timestamp with many attributes", stamped(func(_ testing.TB, signed *der) {
			attributes := signed.parts[len(signed.parts)-1].parts[0].parts[3]
			for range 1000 {
				attributes.parts = append(attributes.parts, &der{head: asn1.RawValue{Tag: asn1.TagOID, Bytes: []byte{42}}})
			}
		}), evidence, "a timestamp is not DER of at most"},
		{"a timestamp without a token", v2(func(b *protobundle.Bundle) {
			b.VerificationMaterial.TimestampVerificationData.Rfc3161Timestamps[0].SignedTimestamp = []byte{0x30, 3, 2, 1, 2}
		}), evidence, "not a response with a token"},

		{"levels of DER in a timestamp", junk(nested), evidence, ""},
		{"KiB of DER in a timestamp", junk(must.Get(asn1.Marshal(make([]byte, 17<<10)))(t)), evidence, ""},
		{"a timestamp that is not DER", junk([]byte{0x30, 0x80, 0, 0}), evidence, ""},

		{"a certificate with 60 extensions", extended(60-20, 1), "", ""},
		{"a certificate with 70 extensions", extended(70, 1), certificate, "extensions, and the maximum is 64"},
		{"a certificate with a long extension", extended(1, 17<<10), certificate, "the certificate is larger than 16 KiB"},
		{"a certificate with many SCTs", set{selfSigned: func(template *x509.Certificate) {
			template.ExtraExtensions = append(template.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}, Value: make([]byte, 1025)})
		}}, certificate, "bytes of SCTs"},
		{"a key of 65,536 bits", selfIssued(&rsa.PublicKey{N: new(big.Int).SetBit(big.NewInt(1), 65_535, 1), E: 65537}),
			certificate, ""},

		{"a time that nothing signs, and a timestamp of another", set{onlyV03: true, stamps: now,
			v03: func(b *protobundle.Bundle) { entry(b).InclusionPromise = nil }}, verify.ReasonNoWitnessedTime, ""},
	} {
		out = append(out, verdict{name: tc.name, doc: forged(tc.set), want: tc.reason, detail: tc.detail})
	}
	stampedV2 := func(stamps ...time.Time) set { return set{v2: true, stamps: stamps} }
	return append(out,
		verdict{name: "eight signatures", doc: forged(make([]set, 8)...)},
		verdict{name: "two signatures with four timestamps each", after: time.Minute,
			doc: forged(stampedV2(four...), stampedV2(four...))},
		verdict{name: "two signatures with four timestamps each, and a third with one", want: evidence, after: time.Minute,
			doc: forged(stampedV2(four...), stampedV2(four...), stampedV2(w.now))},
		verdict{name: "a timestamp after the certificate, first", want: verify.ReasonCertificateNotValid, after: time.Hour,
			doc: forged(stampedV2(after, early))},
		verdict{name: "a timestamp after the certificate, last", want: verify.ReasonCertificateNotValid, after: time.Hour,
			doc: forged(stampedV2(early, after))},
		// The early look accepts a certificate whose authority ends before it.
		verdict{name: "an authority that ends soon", doc: forged(set{}, set{}),
			root: window("certificateAuthorities", 0, "end", w.now.Add(time.Minute))},
		// Also where no log verified the checkpoint before.
		verdict{name: "a checkpoint without its lines", want: verify.ReasonUnprovenLogEntry, root: without("tlogs"),
			doc: forged(set{v2: true, stamps: now, v03: func(b *protobundle.Bundle) {
				entry(b).InclusionProof.Checkpoint.Envelope = "rekor.example\n1"
			}})},
	)
}

// signing has a certificate's public key and signs with another key: nobody has the former's private key.
type signing struct{ *ecdsa.PrivateKey }

// der is a value of DER as a tree.
type der struct {
	head  asn1.RawValue // without its content if it has parts
	parts []*der
}

func parseDER(t testing.TB, raw []byte) *der {
	t.Helper()
	var n der
	if rest, err := asn1.Unmarshal(raw, &n.head); err != nil || len(rest) > 0 {
		t.Fatalf("%d bytes behind it, %v", len(rest), err)
	}
	for inner := n.head.Bytes; n.head.IsCompound && len(inner) > 0; {
		var part asn1.RawValue
		rest := must.Get(asn1.Unmarshal(inner, &part))(t)
		n.parts, inner = append(n.parts, parseDER(t, part.FullBytes)), rest
	}
	return &n
}

func (n *der) bytes(t testing.TB) []byte {
	t.Helper()
	head := asn1.RawValue{Class: n.head.Class, Tag: n.head.Tag, IsCompound: n.head.IsCompound, Bytes: n.head.Bytes}
	if n.head.IsCompound {
		var content bytes.Buffer
		for _, part := range n.parts {
			content.Write(part.bytes(t))
		}
		head.Bytes = content.Bytes()
	}
	return must.Get(asn1.Marshal(head))(t)
}

// editedTimestamp changes the SignedData of a timestamp.
func editedTimestamp(t testing.TB, stamp []byte, edit func(t testing.TB, signed *der)) []byte {
	t.Helper()
	response := parseDER(t, stamp)
	edit(t, response.parts[1].parts[1].parts[0])
	return response.bytes(t)
}

// addCertificate adds a certificate to SignedData (RFC 5652, 5.1).
func (n *der) addCertificate(t testing.TB, key any) {
	t.Helper()
	issuer := newKey()
	template := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "x"}, NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0)}
	raw := must.Get(x509.CreateCertificate(rand.Reader, template, template, key, issuer))(t)
	if _, is := key.(*ecdsa.PublicKey); !is && len(raw) > 12<<10 {
		t.Fatalf("the certificate has %d bytes", len(raw))
	}
	for _, part := range n.parts {
		if part.head.Class == asn1.ClassContextSpecific && part.head.Tag == 0 {
			part.parts = append(part.parts, parseDER(t, raw))
			return
		}
	}
	certificates := &der{head: asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true}, parts: []*der{parseDER(t, raw)}}
	n.parts = append(n.parts[:3:3], append([]*der{certificates}, n.parts[3:]...)...)
}

// TestOrderOfTimestamps: the order of two timestamps by one authority does not change the signing time.
func TestOrderOfTimestamps(t *testing.T) {
	w := inWorld(t)
	early, late := w.now.Add(-time.Minute).Truncate(time.Second), w.now.Truncate(time.Second)
	for _, stamps := range [][]time.Time{{early, late}, {late, early}} {
		doc := forged(set{v2: true, stamps: stamps})(t, w)
		verified := must.Get(w.verifier(t, nil, nil).Verify(doc, w.now.Add(time.Hour)))(t)
		if at := verified.Signatures()[0].WitnessedAt; !at.Equal(early) {
			t.Errorf("it was signed at %s, want %s", at, early)
		}
	}
}
