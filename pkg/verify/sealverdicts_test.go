package verify_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
)

// sealVerdicts are about annotations that no signer writes.
func sealVerdicts(w *world) []verdict {
	const prefix = "cosign.sigstore.dev/"
	malformed := func(name string, values map[string]any) verdict {
		return verdict{name: name, want: verify.ReasonMalformedSignature, doc: annotated(values)}
	}
	out := []verdict{
		malformed("no message", map[string]any{prefix + "message": nil}),
		malformed("no signature", map[string]any{prefix + "signature": nil}),
		malformed("an empty signature", map[string]any{prefix + "signature": ""}),
		malformed("a signature that is no text", map[string]any{prefix + "signature": int64(7)}),
		malformed("a message that is a list", map[string]any{prefix + "message": []any{}}),
		malformed("the prefix alone", map[string]any{prefix: "x"}),
		malformed("a gap in the numbers", map[string]any{prefix + "signature_2": "AAAA"}),
		malformed("a certificate without its signature", map[string]any{prefix + "certificate_1": "AAAA"}),
		malformed("the number 0", map[string]any{prefix + "signature_0": "AAAA"}),
		malformed("the number 01", map[string]any{prefix + "signature_01": "AAAA"}),
		malformed("the number -1", map[string]any{prefix + "signature_-1": "AAAA"}),
		malformed("the number +1", map[string]any{prefix + "signature_+1": "AAAA"}),
		malformed("a number beyond all integers", map[string]any{prefix + "signature_99999999999999999999": "AAAA"}),
		malformed("a second message", map[string]any{prefix + "message_1": "AAAA"}),
		malformed("an unknown signature annotation", map[string]any{prefix + "payload": "AAAA"}),
		malformed("a near miss of the bundle's name", map[string]any{prefix + "bundle.v0.4": "AAAA"}),
		malformed("another resource's bundle", map[string]any{prefix + "resourceBundleRef": "registry.invalid/evil:latest"}),
		malformed("another image's signature", map[string]any{prefix + "imageRef": "registry.invalid/evil:latest"}),
		malformed("a bundle that is null", map[string]any{prefix + "bundle.v0.3": nil, prefix + "bundle": "null"}),
		{name: "three documents' worth of a ninth signature", want: verify.ReasonMalformedSignature, doc: annotated(ninth(prefix))},
		{name: "signature keys in another case", want: verify.ReasonAltered, doc: annotated(map[string]any{"Cosign.sigstore.dev/message": "AAAA"})},
		{name: "a bundle's address under another prefix", want: verify.ReasonAltered, doc: annotated(map[string]any{"example.com/resourceBundleRef": "registry.invalid/evil:latest"})},
		{name: "not a Sigstore bundle", want: verify.ReasonMalformedSignature, doc: packing("bundle.v0.3", `{"mediaType": 7}`)},
		{name: "a Sigstore bundle with unknown fields", want: verify.ReasonMalformedSignature, doc: packing("bundle.v0.3", `{"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "evil": 1}`)},
		{name: "an empty Sigstore bundle", want: verify.ReasonMalformedSignature, doc: packing("bundle.v0.3", `{}`)},
		{name: "a certificate that is no PEM", want: verify.ReasonMalformedSignature, doc: packing("certificate", "certificate")},
		{name: "something before the certificate", want: verify.ReasonMalformedSignature, doc: aroundCertificate("evil\n", "")},
		{name: "something behind the certificate", want: verify.ReasonMalformedSignature, doc: aroundCertificate("", "evil\n")},
		{name: "a flat bomb", want: verify.ReasonMalformedSignature, doc: packing("message", strings.Repeat("\x00", 16<<20))},
		{name: "a bomb for a bundle", want: verify.ReasonMalformedSignature, doc: packing("bundle", "{"+strings.Repeat(" ", 16<<20))},
		{name: "a nested bomb", want: verify.ReasonEvidenceMismatch, doc: func(t *testing.T, w *world) *exception.Document {
			return packing("message", packed(t, strings.Repeat("\x00", 16<<20)))(t, w)
		}},
		{name: "a message larger than a pipe's buffer, and junk", want: verify.ReasonMalformedSignature, doc: func(t *testing.T, w *world) *exception.Document {
			return annotated(map[string]any{prefix + "message": packed(t, w.until(week)+"# "+strings.Repeat("a", 70<<10)+"\n"), prefix + "bundle.v0.3": packed(t, "{}")})(t, w)
		}},
	}
	for _, bundle := range []string{`{}`, `null`, `7`, `[]`, `"x"`, `{"SignedEntryTimestamp":null,"Payload":null}`,
		`{"SignedEntryTimestamp":"AAAA","Payload":{"body":7,"integratedTime":1,"logIndex":1,"logID":"00"}}`,
		`{"SignedEntryTimestamp":"AAAA","Payload":{"body":{},"integratedTime":1,"logIndex":1,"logID":"00"}}`,
		`{"SignedEntryTimestamp":"AAAA","Payload":{"body":"","integratedTime":1,"logIndex":1,"logID":"00"}}`,
		`{"SignedEntryTimestamp":"AAAA","Payload":{"body":"!","integratedTime":1,"logIndex":1,"logID":"00"}}`,
		`{"SignedEntryTimestamp":"AAAA","Payload":{"body":"e30=","integratedTime":1,"logIndex":1,"logID":"xy"}}`,
		`{"SignedEntryTimestamp":"AAAA","Payload":{"body":"e30=","integratedTime":0,"logIndex":1,"logID":"00"}}`,
		`{"SignedEntryTimestamp":"AAAA","Payload":{"body":"e30=","integratedTime":1,"logIndex":-1,"logID":"00"}}`,
		`{"SignedEntryTimestamp":"AAAA","Payload":{"body":"e30=","integratedTime":"1","logIndex":1,"logID":"00"}}`,
		`{"SignedEntryTimestamp":"AAAA","payload":{"body":"e30=","integratedTime":1,"logIndex":1,"logID":"00"}}`,
	} {
		out = append(out, verdict{name: "the bundle " + bundle, want: verify.ReasonMalformedSignature, doc: withoutV03(packing("bundle", bundle))})
	}
	// A number of the honest bundle in another form, which other readers may reject.
	old := string(must(json.Marshal(readOldBundle(w))))
	for _, key := range []string{"logIndex", "integratedTime"} {
		for _, spelling := range []string{"7.0", "7e0", "-7", "07", `"7"`} {
			bent := regexp.MustCompile(`("`+key+`":)(\d+)`).ReplaceAllString(old, "${1}"+strings.ReplaceAll(spelling, "7", "${2}"))
			out = append(out, verdict{name: key + " spelled as " + spelling, want: verify.ReasonMalformedSignature, doc: withoutV03(packing("bundle", bent))})
		}
	}
	// No value is used as an address, a path or a variable.
	for _, value := range []string{"http://169.254.169.254/latest", "https://evil.example/sig", "/dev/zero", "/etc/passwd", "env://HOME", "file:///etc/passwd", "-", "k8s://ns/secret", "AAAA\nAAAA"} {
		out = append(out, malformed(fmt.Sprintf("the signature %q", value), map[string]any{prefix + "signature": value}),
			malformed(fmt.Sprintf("the message %q", value), map[string]any{prefix + "message": value}))
	}
	return append(out, verdict{name: "a path that happens to be base64", want: verify.ReasonEvidenceMismatch, doc: annotated(map[string]any{prefix + "signature": "/dev/stdin/x"})})
}

func readOldBundle(w *world) *seal.RekorBundle { return must(seal.Read(w.honest)).Signatures[0].Bundle }

func ninth(prefix string) map[string]any {
	values := map[string]any{}
	for i := 1; i <= 8; i++ {
		values[fmt.Sprintf("%ssignature_%d", prefix, i)] = "AAAA"
	}
	return values
}

// packing replaces the content of one annotation of the honest signature.
func packing(part, content string) maker {
	return func(t *testing.T, w *world) *exception.Document {
		return annotated(map[string]any{"cosign.sigstore.dev/" + part: packed(t, content)})(t, w)
	}
}

func withoutV03(make maker) maker {
	return func(t *testing.T, w *world) *exception.Document {
		return edited(t, make(t, w), func(root object) { delete(dig(t, root, "metadata", "annotations"), "cosign.sigstore.dev/bundle.v0.3") })
	}
}

// aroundCertificate adds text around the honest certificate.
func aroundCertificate(before, behind string) maker {
	return func(t *testing.T, w *world) *exception.Document {
		s := readSeal(t, w.honest)
		return packing("certificate", before+string(signerPEM(t, nil, s.Signatures[0].Certificate))+behind)(t, w)
	}
}

// TestEightSignatures: the maximum number of signatures is verified.
func TestEightSignatures(t *testing.T) {
	w := inWorld(t)
	doc := forged(make([]set, 8)...)(t, w)
	verified := expect.Value(w.verifier(t, nil, nil).Verify(doc, w.now))(t)
	expect.Is(t, "signatures", 8, len(verified.Signatures()))
}
