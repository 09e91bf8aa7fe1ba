package seal_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
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
			message := must.Get(seal.Message(doc))(t)
			want := &seal.Seal{Message: message, Signatures: tc.sets}
			sealed := must.Get(seal.Attach(doc, want))(t)
			got := must.Get(seal.Read(parse(t, string(sealed.Source()))))(t)
			expect.Equal(t, "result (-attached +read)", want, got)
			var kept []string
			for _, line := range strings.SplitAfter(string(sealed.Source()), "\n") {
				if !strings.Contains(line, seal.Prefix) && strings.TrimSpace(line) != "annotations:" {
					kept = append(kept, line)
				}
			}
			expect.Equal(t, "the rest of the file (-before +after)", string(doc.Source()), strings.Join(kept, ""))
			expect.Empty(t, "differences", seal.Compare(sealed, doc, 1))
			expect.Failure(seal.Message(sealed))(t) // a sealed document has a message to sign
		})
	}
}

func TestAttachRefuses(t *testing.T) {
	doc := parse(t, signed)
	for _, n := range []int{0, seal.MaxSignatures + 1} {
		expect.Failure(seal.Attach(doc, &seal.Seal{Signatures: make([]seal.Signature, n)}))(t)
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
	const name = "cosign.sigstore.dev"
	for _, key := range []string{"message", name + "message", "x/" + name + "/message", "Cosign.sigstore.dev/message"} {
		expect.Is(t, key, false, seal.IsKey(key))
	}
}

// TestReadRefuses: invalid annotations are rejected by name.
func TestReadRefuses(t *testing.T) {
	good, text := unpacked(t, "a: b\n"), base64.StdEncoding.EncodeToString
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
		{"message cut off", "message", text(good[:20]), "broken gzip"},
		{"message of a header alone", "message", text(good[:18]), "not gzip"},
		{"a time in the header", "message", text(set(good, 4, 1)), "header"},
		{"a system in the header", "message", text(set(good, 9, 3)), "header"},
		{"a name in the header", "message", text(set(good, 3, 8)), "header"},
		{"spare bits that are set", "message", text(spareBit(t, good)), "are not zero"},
		{"message with a wrong sum", "message", text(set(good, len(good)-5, good[len(good)-5]^1)), "broken gzip"},
		{"two gzip members", "message", text(slices.Concat(good, unpacked(t, "c: d\n"))), "after the gzip data"},
		{"bytes behind the gzip", "message", text(append(good, 0)), "after the gzip data"},
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
		{"bundle with an integer that others may read otherwise", "bundle",
			packed(t, []byte(`{"SignedEntryTimestamp":"AAAA","Payload":{"logIndex":-0}}`)), "integers written as such"},
		{"null", "bundle", "", "not gzip"},
		{"a number for a signature", "signature", 1, "not text"},
		{"an empty signature", "signature", "", "is empty"},
		{"an annotation of another tool", "resourceBundleRef", "x", "not a signature annotation"},
		{"a ninth signature", "signature_8", "AAAA", "at most 8 signatures"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			annotations := object{seal.Prefix + "message": text(good), seal.Prefix + "signature": "AAAA"}
			annotations[seal.Prefix+tc.part] = tc.value
			if tc.value == nil {
				delete(annotations, seal.Prefix+tc.part)
			}
			_, err := seal.Read(annotated(t, annotations))
			expect.Outcome(t, err, tc.want)
			if format := new(seal.FormatError); err != nil && (!errors.As(err, &format) || format.Path[2] != seal.Prefix+tc.part) {
				t.Errorf("it is about %s: %v", format.Path, err)
			}
		})
	}
	_, err := seal.Read(annotated(t, object{"a": "b"}))
	expect.Cause(t, err, seal.ErrUnsigned)
	_, err = seal.Read(parse(t, "metadata: {annotations: [a]}"))
	expect.Cause(t, err, seal.ErrUnsigned)
}

func unpacked(t *testing.T, text string) []byte {
	t.Helper()
	return must.Get(base64.StdEncoding.DecodeString(packed(t, []byte(text))))(t)
}

// TestBombs: highly compressed data uses no more memory than the limits allow.
func TestBombs(t *testing.T) {
	bomb := packed(t, make([]byte, 64<<20))
	nested := packed(t, unpacked(t, strings.Repeat("\x00", 64<<20)))
	for _, part := range []string{"message", "certificate", "bundle", "bundle.v0.3"} {
		annotations := object{seal.Prefix + "message": packed(t, []byte("a: b\n")), seal.Prefix + "signature": "AAAA"}
		annotations[seal.Prefix+part] = bomb
		expect.Error(t, readWithin(t, annotated(t, annotations), 16<<20))
	}
	// Only one layer is decoded: the inner bomb is ordinary bytes.
	s := must.Get(seal.Read(annotated(t, object{seal.Prefix + "message": nested, seal.Prefix + "signature": "AAAA"})))(t)
	expect.Failure(seal.ParseMessage(s.Message))(t) // gzip is taken for a message
	// All eight sets together at their limit are bounded too.
	annotations := object{seal.Prefix + "message": bomb}
	for i := range seal.MaxSignatures {
		annotations[seal.Prefix+"signature"+suffixOf(i)] = "AAAA"
		annotations[seal.Prefix+"bundle.v0.3"+suffixOf(i)] = packed(t, make([]byte, 256<<10))
	}
	annotations[seal.Prefix+"message"] = packed(t, []byte("a: b\n"))
	must.Do(t, readWithin(t, annotated(t, annotations), 32<<20))
	for i := range seal.MaxSignatures {
		delete(annotations, seal.Prefix+"bundle.v0.3"+suffixOf(i))
		annotations[seal.Prefix+"bundle"+suffixOf(i)] = packed(t, []byte(`{"Payload":{"body":"`+strings.Repeat("A", 63<<10)+`"}}`))
	}
	expect.Error(t, readWithin(t, annotated(t, annotations), 4<<20)) // eight full sets of cosign's form
	annotations[seal.Prefix+"bundle"] = packed(t, []byte(`{"Payload":{"body":"`+strings.Repeat("A", 64<<10)+`"}}`))
	expect.Failure(seal.Read(annotated(t, annotations)))(t, "more than 64 KiB")
}

// suffixOf returns the suffix of the annotations of a signature set.
func suffixOf(i int) string {
	if i == 0 {
		return ""
	}
	return fmt.Sprintf("_%d", i)
}

// readWithin reads a seal with at most that many bytes of memory.
func readWithin(t *testing.T, doc *exception.Document, most uint64) error {
	t.Helper()
	var err error
	expect.Allocates(t, "reading it", most, func() { _, err = seal.Read(doc) })
	return err
}

// TestMessageOfCommits: every commit hash can be written as the merge commit, also one that begins like a number.
func TestMessageOfCommits(t *testing.T) {
	for _, commit := range []string{
		"0b1765e8b7929d891b5ddf1c807ce1d20a7d487a", "00e1765000000000000000000000000000000000", "0123456701234567012345670123456701234567",
		"1234567890123456789012345678901234567890", "12345678901234567890123456789012345678e9", "0e12345678901234567890123456789012345678",
	} {
		message := must.Get(seal.Message(annotated(t, object{"polex.dev/merge-commit": commit})))(t)
		got, _ := must.Get(seal.ParseMessage(message))(t).Lookup("metadata", "annotations", "polex.dev/merge-commit")
		expect.Equal(t, "merge commit", commit, got)
	}
}

// TestMessage: a signed message reads back as the same values, or Message returns an error.
func TestMessage(t *testing.T) {
	message := must.Get(seal.Message(parse(t, signed)))(t)
	again := must.Get(seal.Message(parse(t, string(message))))(t)
	expect.Equal(t, "the message of the message", string(message), string(again))
	back := must.Get(seal.ParseMessage(message))(t)
	expect.Equal(t, "result (-signed +read)", parse(t, signed).Object(), back.Object())
	for name, text := range map[string]string{
		"carries a seal": "metadata: {annotations: {cosign.sigstore.dev/signature: AAAA}}", "carries a seal's near miss": "metadata: {annotations: {cosign.sigstore.dev/x: AAAA}}",
	} {
		t.Run(name, func(t *testing.T) {
			expect.Failure(seal.Message(parse(t, text)))(t)
			expect.Failure(seal.ParseMessage([]byte(text)))(t)
		})
	}
	var syntax *exception.SyntaxError
	_, err := seal.ParseMessage([]byte("a: b\n---\nc: d\n"))
	expect.That(t, errors.As(err, &syntax), "two documents: %v", err)
	expect.Failure(seal.ParseMessage([]byte("\x1f\x8b\x08\x00")))(t, "--tarball=no") // an archive
}

func set(raw []byte, at int, to byte) []byte {
	raw = bytes.Clone(raw)
	raw[at] = to
	return raw
}

// spareBit sets the highest bit before the empty block at the end, which must be unused.
func spareBit(t *testing.T, raw []byte) []byte {
	t.Helper()
	last := len(raw) - 8 - 4 - 1
	must.That(t, raw[last]&0x80 == 0, "the highest bit is set already")
	return set(raw, last, raw[last]|0x80)
}

type object = map[string]any

func parse(t testing.TB, yaml string) *exception.Document {
	t.Helper()
	return must.Get(exception.Parse([]byte(yaml), "test.yaml"))(t)
}

func fromObject(t testing.TB, root object) *exception.Document {
	t.Helper()
	return must.Get(exception.FromObject(root))(t)
}

// annotated returns a small document with these annotations.
func annotated(t testing.TB, annotations object) *exception.Document {
	t.Helper()
	return fromObject(t, object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "a", "annotations": annotations}})
}

func packed(t testing.TB, raw []byte) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	must.Get(z.Write(raw))(t)
	must.Do(t, z.Close())
	return base64.StdEncoding.EncodeToString(b.Bytes())
}
