package verify_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"google.golang.org/protobuf/proto"

	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// detached is a document without signature annotations, a bundle in a file, and the expected result.
type detached struct {
	name    string
	want    string // "" for acceptance
	text    string // the signed text; "" for the draft
	set     set
	bundle  func(t *testing.T, raw []byte) []byte // instead of the real bundle of the text
	message string                                // the verified text, if it is another one
	policy  func(*trust.Config)
	after   time.Duration
}

func detachedVerdicts(t *testing.T, w *world) []detached {
	text := w.until(week)
	other := swapped(text, "vendor-*", "*")
	asJSON := must.Get(json.Marshal(parse(t, text).Object()))(t)
	key := newKey()
	keyed := func(withoutLog bool) func(*trust.Config) { return both(byKey(key, withoutLog), atMost("")) }
	bend := func(edit func(*protobundle.Bundle)) func(*testing.T, []byte) []byte {
		return func(t *testing.T, raw []byte) []byte { return bent(t, raw, edit) }
	}
	instead := func(raw string) func(*testing.T, []byte) []byte {
		return func(*testing.T, []byte) []byte { return []byte(raw) }
	}
	withoutEntry := bend(noEntry)
	otherBundle := func(t *testing.T, _ []byte) []byte { return w.sign(t, []byte(other), set{}).BundleV03 }
	const malformed = verify.ReasonMalformedSignature
	return []detached{
		{name: "honest"},
		{name: "JSON and a line break", text: string(asJSON) + "\n"},
		{name: "comments round it", text: "# above\n---\n" + text + "---\n# below\n"},
		{name: "a timestamp too", set: set{stamps: []time.Time{w.now}}},

		{name: "a byte changed", message: other, want: verify.ReasonEvidenceMismatch},
		{name: "a comment added", message: text + "# more\n", want: verify.ReasonEvidenceMismatch},
		{name: "the last line break taken away", message: strings.TrimSuffix(text, "\n"), want: verify.ReasonEvidenceMismatch},
		{name: "Windows' line breaks", message: strings.ReplaceAll(text, "\n", "\r\n"), want: verify.ReasonEvidenceMismatch},
		{name: "another document's bundle", bundle: otherBundle, want: verify.ReasonEvidenceMismatch},
		{name: "another document's bundle, the digest made to fit", want: verify.ReasonLogEntryMismatch, bundle: func(t *testing.T, raw []byte) []byte {
			return bent(t, otherBundle(t, nil), func(b *protobundle.Bundle) {
				b.GetMessageSignature().MessageDigest = readBundle(t, raw).GetMessageSignature().GetMessageDigest()
			})
		}},

		{name: "two documents in the file", text: text + "---\n" + swapped(text, "allow-latest", "other"), want: verify.ReasonBadMessage},
		{name: "something after the JSON", text: string(asJSON) + "\nx", want: verify.ReasonBadMessage},
		{name: "a second JSON value", text: string(asJSON) + "{}", want: verify.ReasonBadMessage},
		{name: "no document", text: "# nothing\n", want: verify.ReasonBadMessage},
		{name: "an alias", text: swapped(text, "name: allow-latest", "name: &a allow-latest"), want: verify.ReasonBadMessage},
		{name: "a key twice", text: text + "kind: PolicyException\n", want: verify.ReasonBadMessage},
		{name: "a sealed document", text: string(w.honest.Source()), want: verify.ReasonBadMessage},
		{name: "another kind", text: swapped(text, "kind: PolicyException", "kind: ConfigMap"), want: verify.ReasonKindNotAllowed},
		{name: "another kind, and no bundle to speak of", text: swapped(text, "kind: PolicyException", "kind: ConfigMap"), bundle: instead(""), want: malformed},

		{name: "an empty bundle", bundle: instead(""), want: malformed},
		{name: "a bundle of nothing", bundle: instead("{}"), want: malformed},
		{name: "a bundle that is no JSON", bundle: instead("signature: x"), want: malformed},
		{name: "cosign's bundle of before version 3", want: malformed,
			bundle: instead(`{"base64Signature":"AAAA","cert":"AAAA","rekorBundle":{"SignedEntryTimestamp":"AAAA","Payload":{}}}`)},
		{name: "a bundle of another version", want: malformed, bundle: bend(func(b *protobundle.Bundle) {
			b.MediaType = "application/vnd.dev.sigstore.bundle+json;version=0.2"
		})},
		{name: "a bundle with a field that nobody knows", want: malformed, bundle: func(_ *testing.T, raw []byte) []byte {
			return bytes.Replace(raw, []byte("{"), []byte(`{"more":1,`), 1)
		}},
		{name: "a bundle that is too large", want: malformed, bundle: func(_ *testing.T, raw []byte) []byte {
			return append(raw, bytes.Repeat([]byte(" "), 256<<10)...)
		}},
		{name: "a bundle of an envelope", want: malformed, bundle: bend(envelope)},
		{name: "a bundle with a chain", want: malformed, bundle: bend(chainOfOne)},
		{name: "a bundle without a signature", want: malformed, bundle: bend(func(b *protobundle.Bundle) { b.GetMessageSignature().Signature = nil })},
		{name: "a bundle without a certificate", want: malformed, bundle: bend(func(b *protobundle.Bundle) { b.VerificationMaterial.GetCertificate().RawBytes = nil })},
		{name: "a bundle without material", want: malformed, bundle: bend(func(b *protobundle.Bundle) { b.VerificationMaterial = nil })},
		{name: "two log entries", want: malformed, bundle: bend(twoEntries)},
		{name: "no log entry", bundle: withoutEntry, want: verify.ReasonNoLogEntry},
		{name: "a hint instead of the certificate", want: verify.ReasonUnknownKey, bundle: bend(aKey)},
		{name: "a promise by nobody", want: verify.ReasonUnprovenLogEntry, bundle: bend(otherPromise)},
		{name: "garbage that the log vouches for", set: set{signature: []byte("x")}, want: verify.ReasonBadSignature},
		{name: "self-signed", set: set{selfSigned: asFulcio}, want: verify.ReasonUntrustedCertificate},

		{name: "nobody who is named", want: verify.ReasonWrongIdentity, policy: func(c *trust.Config) { c.Authorities[0].Subject += "x" }},
		{name: "two have to sign", want: verify.ReasonTooFewAuthorities, policy: func(c *trust.Config) {
			c.Threshold = 2
			c.Authorities = append(c.Authorities, w.human("anna"))
		}},
		{name: "expired", after: 8 * day, want: verify.ReasonExpired},
		{name: "a duration and no time", text: strings.Replace(text, "polex.dev/expires-at: ", "polex.dev/expires-in: 7d # ", 1), want: verify.ReasonNoExpiry},
		{name: "too long", want: verify.ReasonLifetimeTooLong, policy: atMost("6d")},
		{name: "withdrawn", want: verify.ReasonWithdrawn, policy: revoked(trust.RevocationConfig{MessageDigest: sum([]byte(text))})},

		{name: "by a key", set: set{key: key, keyed: true}, policy: keyed(false)},
		{name: "by a key, without a log", set: set{key: key, keyed: true}, bundle: withoutEntry, policy: keyed(true)},
		{name: "by a key, without a log that is asked for", set: set{key: key, keyed: true}, bundle: withoutEntry, policy: keyed(false), want: verify.ReasonNoLogEntry},
		{name: "by a key, another document's", message: other, set: set{key: key, keyed: true}, bundle: withoutEntry, policy: keyed(true), want: verify.ReasonEvidenceMismatch},
		{name: "by a key, and a hint that names another", set: set{keyed: true}, policy: keyed(false), want: verify.ReasonUnknownKey},
	}
}

// TestDetachedVerdicts verifies documents with their bundle in a separate file.
func TestDetachedVerdicts(t *testing.T) {
	w := inWorld(t)
	for _, tc := range detachedVerdicts(t, w) {
		t.Run(tc.name, func(t *testing.T) {
			signed := cmp.Or(tc.text, w.until(week))
			bundle := w.sign(t, []byte(signed), tc.set).BundleV03
			if tc.bundle != nil {
				bundle = tc.bundle(t, bundle)
			}
			message := cmp.Or(tc.message, signed)
			verified, err := w.verifier(t, tc.policy, nil).VerifyDetached([]byte(message), bundle, w.now.Add(tc.after))
			answers(t, verified, err, tc.want)
			if err != nil {
				return
			}
			if got := string(verified.Message().Source()); !strings.Contains(message, got) || verified.ExpiresAt().IsZero() {
				t.Errorf("verified %q until %s", got, verified.ExpiresAt())
			}
		})
	}
}

// TestDetachedSeal: the bundle in the annotations is valid for the signed message.
func TestDetachedSeal(t *testing.T) {
	w := inWorld(t)
	s := readSeal(t, w.honest)
	v := w.verifier(t, nil, nil)
	verified := must.Get(v.VerifyDetached(s.Message, s.Signatures[0].BundleV03, w.now))(t)
	sealed := must.Get(v.Verify(w.honest, w.now))(t)
	got, want := verified.Signatures()[0], sealed.Signatures()[0]
	sameStrings(t, got.Checked, want.Checked)
	if got.LogIndex != want.LogIndex || !got.WitnessedAt.Equal(want.WitnessedAt) || got.Authority != want.Authority {
		t.Errorf("evidence %+v, and the seal's is %+v", got, want)
	}
}

// TestFlipDetached flips every byte of a document and of its bundle. Two parts have several valid
// forms: the log's signature below a checkpoint (a note can have unknown signature lines), and the
// wrapping of a timestamp (RFC 5652) with the same time.
func TestFlipDetached(t *testing.T) {
	w := inWorld(t)
	message := []byte(w.until(week))
	v := w.verifier(t, nil, nil)
	for name, s := range map[string]set{"Rekor v1": {}, "Rekor v2": {v2: true, stamps: []time.Time{w.now}}} {
		t.Run(name, func(t *testing.T) {
			bundle := w.sign(t, message, s).BundleV03
			must.Get(v.VerifyDetached(message, bundle, w.now))(t)
			for i := range message {
				flipped := bytes.Clone(message)
				flipped[i] ^= 1
				verified, err := v.VerifyDetached(flipped, bundle, w.now)
				expect.That(t, err != nil && verified == nil, "byte %d of the document flipped, and it verifies", i)
			}
			whole := bundleSays(t, bundle)
			for i := 0; i < len(bundle); i += someBytes() {
				flipped := bytes.Clone(bundle)
				flipped[i] ^= 1
				verified, err := v.VerifyDetached(message, flipped, w.now)
				if err == nil && (!proto.Equal(bundleSays(t, flipped), whole) || verified.Signatures()[0].WitnessedAt.Unix() != w.now.Unix()) {
					t.Errorf("byte %d of the bundle flipped, and it verifies: %s", i, flipped[max(0, i-20):min(len(flipped), i+20)])
				}
			}
		})
	}
}

// bundleSays returns the content of a bundle without the forms of a checkpoint's signature and of a
// timestamp's wrapping.
func bundleSays(t *testing.T, raw []byte) *protobundle.Bundle {
	t.Helper()
	b := readBundle(t, raw)
	c := entry(b).InclusionProof.Checkpoint
	c.Envelope, _, _ = strings.Cut(c.Envelope, "\n\n")
	for _, stamp := range b.VerificationMaterial.GetTimestampVerificationData().GetRfc3161Timestamps() {
		stamp.SignedTimestamp = nil
	}
	return b
}

// FuzzVerifyDetached verifies any input.
func FuzzVerifyDetached(f *testing.F) {
	k := openKept(f)
	bundle := k.seal.Signatures[0].BundleV03
	f.Add(k.seal.Message, bundle)
	f.Add([]byte(keptDraft), []byte("{}"))
	f.Fuzz(func(t *testing.T, message, bundle []byte) {
		verified, err := k.v.VerifyDetached(message, bundle, k.now)
		switch {
		case err != nil && verified != nil:
			t.Error("a refusal and a result")
		case err != nil && strings.Contains(err.Error(), "internal error"):
			t.Errorf("a library panics: %v", err)
		case err == nil && !bytes.Equal(message, k.seal.Message):
			t.Errorf("another document verified:\n%s", message)
		}
	})
}
