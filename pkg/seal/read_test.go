package seal_test

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/test/expect"
)

func rekorBundle(n int64) *seal.RekorBundle {
	return &seal.RekorBundle{SignedEntryTimestamp: []byte{1, 2}, Payload: seal.RekorPayload{Body: "e30=", IntegratedTime: 1700000000, LogIndex: n, LogID: "00"}}
}

// TestRoundTrip: attached signatures are read back, and all other bytes of the file stay.
func TestRoundTrip(t *testing.T) {
	eight := make([]seal.Signature, seal.MaxSignatures)
	for i := range eight {
		eight[i] = seal.Signature{Signature: []byte{byte(i)}, Bundle: rekorBundle(int64(i))}
	}
	for _, tc := range []struct {
		name string
		sets []seal.Signature
	}{
		{"key alone", []seal.Signature{{Signature: []byte("s")}}},
		{"everything", []seal.Signature{{Signature: []byte("s"), Certificate: []byte("der"), Bundle: rekorBundle(0), BundleV03: []byte(`{"a":1}`)}}},
		{"mixed", []seal.Signature{{Signature: []byte("s"), BundleV03: []byte("{}")}, {Signature: []byte("t"), Certificate: []byte("der")}}},
		{"eight", eight},
	} {
		t.Run(tc.name, func(t *testing.T) {
			doc := parse(t, "# kept\n"+signed)
			message := expect.Value(seal.Message(doc))(t)
			want := &seal.Seal{Message: message, Signatures: tc.sets}
			sealed := expect.Value(seal.Attach(doc, want))(t)
			got := expect.Value(seal.Read(parse(t, string(sealed.Source()))))(t)
			expect.Equal(t, "result (-attached +read)", want, got)
			var kept []string
			for _, line := range strings.SplitAfter(string(sealed.Source()), "\n") {
				if !strings.Contains(line, seal.Prefix) && strings.TrimSpace(line) != "annotations:" {
					kept = append(kept, line)
				}
			}
			expect.Equal(t, "the rest of the file (-before +after)", string(doc.Source()), strings.Join(kept, ""))
			if found := seal.Compare(sealed, doc, 1); len(found) > 0 {
				t.Errorf("the sealed document differs: %v", found)
			}
			if _, err := seal.Message(sealed); err == nil {
				t.Error("a sealed document has a message to sign")
			}
		})
	}
}

func TestAttachRefuses(t *testing.T) {
	doc := parse(t, signed)
	for _, n := range []int{0, seal.MaxSignatures + 1} {
		if _, err := seal.Attach(doc, &seal.Seal{Signatures: make([]seal.Signature, n)}); err == nil {
			t.Errorf("%d signatures are attached", n)
		}
	}
}

func TestIsKey(t *testing.T) {
	for key, want := range map[string]bool{
		"message": true, "signature": true, "certificate": true, "bundle": true, "bundle.v0.3": true, "signature_1": true, "bundle.v0.3_7": true,
		"": false, "message_1": false, "signature_0": false, "signature_01": false, "signature_8": false, "signature_": false, "signature_-1": false,
		"signature_1_1": false, "signature_1\u0020": false, "Signature": false, "signature_٣": false, "bundle.v0": false, "resourceBundleRef": false,
	} {
		expect.Is(t, fmt.Sprintf("%q", key), want, seal.IsKey(seal.Prefix+key))
	}
	for _, key := range []string{"message", "cosign.sigstore.devmessage", "x/cosign.sigstore.dev/message", "Cosign.sigstore.dev/message"} {
		if seal.IsKey(key) {
			t.Errorf("%q is taken for a seal's", key)
		}
	}
}

// TestReadRefuses: invalid annotations are rejected by name.
func TestReadRefuses(t *testing.T) {
	good := object{"message": packed(t, []byte("a: b\n")), "signature": "AAAA"}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("der")})
	for _, tc := range []struct {
		name, part string
		value      any
		want       string
	}{
		{"control", "signature", "AAAA", ""},
		{"control with a certificate", "certificate", packed(t, certificate), ""},
		{"no message", "message", nil, "missing"},
		{"no signature", "signature", nil, "missing"},
		{"base64 with a line break", "signature", "AA\nAA", "line break"},
		{"base64 without its padding", "signature", "AAA", "not base64"},
		{"base64 with bits left over", "signature", "AAB=", "not base64"},
		{"base64 for addresses", "signature", "-_-_", "not base64"},
		{"base64 with a space", "signature", "AAAA ", "not base64"},
		{"long signature", "signature", strings.Repeat("AAAA", 2000), "longer than"},
		{"message not gzip", "message", "AAAA", "not gzip"},
		{"message cut off", "message", base64.StdEncoding.EncodeToString(unpacked(t, "a: b\n")[:20]), "broken gzip"},
		{"message of a header alone", "message", base64.StdEncoding.EncodeToString(unpacked(t, "a: b\n")[:18]), "not gzip"},
		{"a time in the header", "message", base64.StdEncoding.EncodeToString(set(unpacked(t, "a: b\n"), 4, 1)), "header"},
		{"a system in the header", "message", base64.StdEncoding.EncodeToString(set(unpacked(t, "a: b\n"), 9, 3)), "header"},
		{"a name in the header", "message", base64.StdEncoding.EncodeToString(set(unpacked(t, "a: b\n"), 3, 8)), "header"},
		{"spare bits that are set", "message", base64.StdEncoding.EncodeToString(spareBit(t, unpacked(t, "a: b\n"))), "are not zero"},
		{"message with a wrong sum", "message", base64.StdEncoding.EncodeToString(flipLast(unpacked(t, "a: b\n"))), "broken gzip"},
		{"two gzip members", "message", base64.StdEncoding.EncodeToString(append(unpacked(t, "a: b\n"), unpacked(t, "c: d\n")...)), "after the gzip data"},
		{"bytes behind the gzip", "message", base64.StdEncoding.EncodeToString(append(unpacked(t, "a: b\n"), 0)), "after the gzip data"},
		{"two certificates", "certificate", packed(t, append(bytes.Clone(certificate), certificate...)), "more than one"},
		{"a key for a certificate", "certificate", packed(t, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte("der")})), "PEM"},
		{"text before the certificate", "certificate", packed(t, append([]byte("x\n"), certificate...)), "PEM"},
		{"an unreadable certificate before the certificate", "certificate", packed(t, append([]byte("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"), certificate...)), "more than one"},
		{"PEM headers", "certificate", packed(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("der"), Headers: map[string]string{"a": "b"}})), "headers"},
		{"bundle of a list", "bundle", packed(t, []byte("[]")), "JSON object"},
		{"bundle in YAML", "bundle", packed(t, []byte("SignedEntryTimestamp: AAAA\n")), "JSON object"},
		{"bundle of many values", "bundle", packed(t, []byte(`{"SignedEntryTimestamp":"AAAA",`+strings.Repeat(`"Evil":1,`, 100)+`"Evil":1}`)), "more than 100 values"},
		{"bundle with an unknown field", "bundle", packed(t, []byte(`{"SignedEntryTimestamp":"AAAA","Evil":1}`)), "Rekor bundle"},
		{"bundle with a field twice", "bundle", packed(t, []byte(`{"SignedEntryTimestamp":"AAAA","SignedEntryTimestamp":"AAAA"}`)), "JSON object"},
		{"null", "bundle", "", "not gzip"},
		{"a number for a signature", "signature", 1, "not text"},
		{"an empty signature", "signature", "", "is empty"},
		{"an annotation of another tool", "resourceBundleRef", "x", "not a signature annotation"},
		{"a ninth signature", "signature_8", "AAAA", "at most 8 signatures"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			annotations := object{}
			for part, value := range good {
				annotations[seal.Prefix+part] = value
			}
			annotations[seal.Prefix+tc.part] = tc.value
			if tc.value == nil {
				delete(annotations, seal.Prefix+tc.part)
			}
			_, err := seal.Read(annotated(t, annotations))
			var format *seal.FormatError
			switch {
			case tc.want == "" && err == nil:
			case !errors.As(err, &format):
				t.Fatalf("read: %v", err)
			case !strings.Contains(format.Message, tc.want):
				t.Errorf("%q, want %q in it", format.Message, tc.want)
			case format.Path[2] != seal.Prefix+tc.part:
				t.Errorf("it is about %s", format.Path)
			}
		})
	}
	if _, err := seal.Read(annotated(t, object{"a": "b"})); !errors.Is(err, seal.ErrUnsigned) {
		t.Errorf("no seal: %v", err)
	}
	if _, err := seal.Read(parse(t, "metadata: {annotations: [a]}")); !errors.Is(err, seal.ErrUnsigned) {
		t.Errorf("no mapping: %v", err)
	}
}

func unpacked(t *testing.T, text string) []byte {
	t.Helper()
	return expect.Value(base64.StdEncoding.DecodeString(packed(t, []byte(text))))(t)
}

func flipLast(raw []byte) []byte {
	raw[len(raw)-5] ^= 1 // of the checksum, before the length
	return raw
}

// TestBombs: highly compressed data uses no more memory than the limits allow.
func TestBombs(t *testing.T) {
	bomb := packed(t, make([]byte, 64<<20))
	nested := packed(t, unpacked(t, strings.Repeat("\x00", 64<<20)))
	for _, part := range []string{"message", "certificate", "bundle", "bundle.v0.3"} {
		annotations := object{seal.Prefix + "message": packed(t, []byte("a: b\n")), seal.Prefix + "signature": "AAAA"}
		annotations[seal.Prefix+part] = bomb
		doc := annotated(t, annotations)
		var err error
		if got, most := allocated(func() { _, err = seal.Read(doc) }), uint64(16<<20); got > most {
			t.Errorf("%s: %d bytes to refuse a bomb, and %d are plenty", part, got, most)
		}
		if err == nil {
			t.Errorf("%s: a bomb is read", part)
		}
	}
	// Only one layer is decoded: the inner bomb is ordinary bytes.
	s, err := seal.Read(annotated(t, object{seal.Prefix + "message": nested, seal.Prefix + "signature": "AAAA"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := seal.ParseMessage(s.Message); err == nil {
		t.Error("gzip is taken for a message")
	}
	// All eight sets together at their limit are bounded too.
	annotations := object{seal.Prefix + "message": bomb}
	for i := range seal.MaxSignatures {
		annotations[seal.Prefix+"signature"+suffixOf(i)] = "AAAA"
		annotations[seal.Prefix+"bundle.v0.3"+suffixOf(i)] = packed(t, make([]byte, 256<<10))
	}
	annotations[seal.Prefix+"message"] = packed(t, []byte("a: b\n"))
	doc := annotated(t, annotations)
	if got, most := allocated(func() { _, err = seal.Read(doc) }), uint64(32<<20); err != nil || got > most {
		t.Errorf("eight full sets: %v, %d bytes, and %d are plenty", err, got, most)
	}
	for i := range seal.MaxSignatures {
		delete(annotations, seal.Prefix+"bundle.v0.3"+suffixOf(i))
		annotations[seal.Prefix+"bundle"+suffixOf(i)] = packed(t, []byte(`{"Payload":{"body":"`+strings.Repeat("A", 63<<10)+`"}}`))
	}
	doc = annotated(t, annotations)
	if got, most := allocated(func() { _, err = seal.Read(doc) }), uint64(4<<20); err == nil || got > most {
		t.Errorf("eight full sets of cosign's form: %v, %d bytes, and %d are plenty", err, got, most)
	}
	annotations[seal.Prefix+"bundle"] = packed(t, []byte(`{"Payload":{"body":"`+strings.Repeat("A", 64<<10)+`"}}`))
	if _, err := seal.Read(annotated(t, annotations)); err == nil || !strings.Contains(err.Error(), "more than 64 KiB") {
		t.Errorf("a bundle of more than 64 KiB: %v", err)
	}
}

// suffixOf returns the suffix of the annotations of a signature set.
func suffixOf(i int) string {
	if i == 0 {
		return ""
	}
	return fmt.Sprintf("_%d", i)
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestMessageOfCommits: every commit hash can be written as the merge commit, also one that begins
// like a number.
func TestMessageOfCommits(t *testing.T) {
	for _, commit := range []string{
		"0b1765e8b7929d891b5ddf1c807ce1d20a7d487a", "00e1765000000000000000000000000000000000", "0123456701234567012345670123456701234567",
		"1234567890123456789012345678901234567890", "12345678901234567890123456789012345678e9", "0e12345678901234567890123456789012345678",
	} {
		message, err := seal.Message(annotated(t, object{"polex.dev/merge-commit": commit}))
		if err != nil {
			t.Error(err)
			continue
		}
		back := expect.Value(seal.ParseMessage(message))(t)
		if got, _ := back.Lookup("metadata", "annotations", "polex.dev/merge-commit"); got != commit {
			t.Errorf("%s reads back as %v", commit, got)
		}
	}
}

// TestMessage: a signed message reads back as the same values, or Message returns an error.
func TestMessage(t *testing.T) {
	message := expect.Value(seal.Message(parse(t, signed)))(t)
	again, err := seal.Message(parse(t, string(message)))
	if err != nil || !bytes.Equal(message, again) {
		t.Errorf("the message of the message: %v\n%s\n%s", err, message, again)
	}
	back := expect.Value(seal.ParseMessage(message))(t)
	expect.Equal(t, "result (-signed +read)", parse(t, signed).Object(), back.Object())
	for name, text := range map[string]string{
		"carries a seal": "metadata: {annotations: {cosign.sigstore.dev/signature: AAAA}}", "carries a seal's near miss": "metadata: {annotations: {cosign.sigstore.dev/x: AAAA}}",
	} {
		if _, err := seal.Message(parse(t, text)); err == nil {
			t.Errorf("signed: %s", name)
		}
		if _, err := seal.ParseMessage([]byte(text)); err == nil {
			t.Errorf("read: %s", name)
		}
	}
	var syntax *exception.SyntaxError
	if _, err := seal.ParseMessage([]byte("a: b\n---\nc: d\n")); !errors.As(err, &syntax) {
		t.Errorf("two documents: %v", err)
	}
	if _, err := seal.ParseMessage([]byte("\x1f\x8b\x08\x00")); err == nil || !strings.Contains(err.Error(), "--tarball=no") {
		t.Errorf("an archive: %v", err)
	}
}

func set(raw []byte, at int, to byte) []byte {
	raw[at] = to
	return raw
}

// spareBit sets the highest bit before the empty block at the end, which must be unused.
func spareBit(t *testing.T, raw []byte) []byte {
	t.Helper()
	last := &raw[len(raw)-8-4-1]
	if *last&0x80 != 0 {
		t.Fatal("the highest bit is set already")
	}
	*last |= 0x80
	return raw
}
