package verify_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/sigstore/fulcio/pkg/certificate"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/attacks"
	"github.com/polex-dev/polex/test/must"
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
			return packing("message", packed(strings.Repeat("\x00", 16<<20)))(t, w)
		}},
		{name: "a message larger than a pipe's buffer, and junk", want: verify.ReasonMalformedSignature, doc: annotated(
			map[string]any{prefix + "message": packed(w.until(week) + "# " + strings.Repeat("a", 70<<10) + "\n"), prefix + "bundle.v0.3": packed("{}")})},
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
	old := string(orPanic(json.Marshal(readOldBundle(w))))
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

func readOldBundle(w *world) *seal.RekorBundle {
	return orPanic(seal.Read(w.honest)).Signatures[0].Bundle
}

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
		return annotated(map[string]any{"cosign.sigstore.dev/" + part: packed(content)})(t, w)
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

// messageVerdicts are about messages with a valid signature and log entry that are not one plain document.
func messageVerdicts(w *world) []verdict {
	plain := w.until(week)
	bad := func(name, message string) verdict {
		return verdict{name: name, want: verify.ReasonBadMessage, doc: text(message, set{})}
	}
	bomb := "a0: [x]\n"
	for i := 1; i < 10; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
	}
	return []verdict{
		bad("null", "null\n"),
		{name: "null under a junk signature", want: verify.ReasonEvidenceMismatch, doc: annotated(
			map[string]any{"cosign.sigstore.dev/message": packed("null\n"), "cosign.sigstore.dev/signature": "AAAA"})},
		bad("nothing", ""),
		bad("a comment", "# nothing\n"),
		bad("a list", "- a\n"),
		bad("hidden behind another document", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cover\n---\n"+plain),
		bad("hidden before another document", plain+"---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cover\n"),
		bad("a key twice", swapped(plain, "  background: true\n", "  background: true\n  background: false\n")),
		bad("an anchor", swapped(plain, "background: true", "background: &k true")),
		bad("an alias", swapped(plain, "background: true", "background: *k")),
		bad("a tag", swapped(plain, "value: 3", "value: !!str 3")),
		bad("another reader's true", swapped(plain, "background: true", "background: on")),
		bad("octal", swapped(plain, "value: 3", "value: 0o17")),
		bad("base 60", swapped(plain, "value: 3", "value: 1:30")),
		bad("a bomb of aliases", bomb),
		bad("9000 lists", "a: "+strings.Repeat("[", 9000)+strings.Repeat("]", 9000)+"\n"),
		bad("1e6 values", "a: ["+strings.Repeat("? b,", 200_000)+"]\n"),
		// A message by an untrusted signer is never parsed: the signer is the reason for any content.
		{name: "1e6 values by a stranger", differs: otherClaims, want: verify.ReasonWrongIdentity, doc: byStranger("a: [" + strings.Repeat("? b,", 200_000) + "]\n")},
		{name: "no YAML by a stranger", differs: otherClaims, want: verify.ReasonWrongIdentity, doc: byStranger("a: [")},
		bad("a number to kubectl, text to others", swapped(plain, "value: 3", "value: -_9")),
		{name: "a text that kubectl ends with a line break", want: verify.ReasonAltered,
			doc: text(strings.TrimSuffix(swapped(plain, "value: 3", "value: |\n            3"), "\n"), set{})},
		bad("a separator to kubectl, a key to others", plain+"---#x: y\n"),
		{name: "a list to kubectl", want: verify.ReasonKindNotAllowed, doc: signed(plain + "items: []\n")},
		bad("a line break that only some know", swapped(plain, "the vendor", "the\u2028vendor")),
		bad("a signature inside the message", swapped(plain, "polex.dev/reason", "cosign.sigstore.dev/signature: AAAA\n    polex.dev/reason")),
		{name: "a list", want: verify.ReasonKindNotAllowed, doc: signed(swapped(listText(plain), "kind: List\n", "kind: List\nmetadata:\n  annotations:\n    a: b\n"))},
		{name: "a list's item", want: verify.ReasonAltered, doc: text(listText(plain), set{})},
		{name: "the message as JSON",
			doc: text(string(orPanic(json.Marshal(orPanic(exception.Parse([]byte(plain), "")).Object()))), set{})},
	}
}

// byStranger is any message with a valid signature and log entry by an untrusted signer.
func byStranger(message string) maker {
	return text(message, set{identity: func(e *certificate.Extensions) { e.SourceRepositoryURI = "https://github.com/evil/exceptions" }})
}

func listText(yaml string) string {
	return "apiVersion: v1\nkind: List\nitems:\n- " + strings.TrimSpace(strings.ReplaceAll(yaml, "\n", "\n  ")) + "\n"
}

// fileVerdicts are about files with more than one plain document, or with none.
func fileVerdicts(w *world) []verdict {
	const malformed, unsigned, twice = "malformed", "unsigned", "duplicate-identity"
	around := func(before, behind string) func(*testing.T, *world) string {
		return func(_ *testing.T, w *world) string { return before + string(w.honest.Source()) + behind }
	}
	spoilt := func(old, with string) func(*testing.T, *world) string {
		return func(t *testing.T, w *world) string { return swapped(string(w.honest.Source()), old, with) }
	}
	another := strings.Replace(w.until(week), "allow-latest", "allow-more", 1)
	bad := func(name string, file func(*testing.T, *world) string) verdict {
		return verdict{name: name, file: file, wants: []string{malformed}}
	}
	return []verdict{
		{name: "a good document, a malformed one and an unsigned one", file: around("", "---\na: *b\n---\n"+another), wants: []string{attacks.Verified, malformed, unsigned}},
		{name: "an unsigned document behind a good one", file: around("", "---\n"+another), wants: []string{attacks.Verified, unsigned}},
		{name: "an unsigned document before a good one", file: around(another+"---\n", ""), wants: []string{unsigned, attacks.Verified}},
		{name: "the same document twice", file: func(t *testing.T, w *world) string {
			return around("", "---\n")(t, w) + string(w.honest.Source())
		}, wants: []string{attacks.Verified, twice}},
		{name: "two honest documents of one identity", file: func(t *testing.T, w *world) string {
			again := w.sealed(t, swapped(w.until(week), "vendor-*", "vendor-b"), set{})
			return around("", "---\n")(t, w) + string(again.Source())
		}, wants: []string{attacks.Verified, twice}},
		{name: "comments and empty documents around a good one", file: around("# first\n---\n", "---\n# last\n"), wants: []string{attacks.Verified}},

		bad("a key twice in the document", spoilt("spec:\n", "spec: {}\nspec:\n")),
		bad("an annotation twice", spoilt("  annotations:\n", "  annotations:\n    polex.dev/reason: none\n")),
		bad("an anchor in the document", spoilt("background: true", "background: &k true")),
		bad("a merge key in the document", spoilt("spec:\n", "spec:\n  <<: {}\n")),
		bad("a tag in the document", spoilt("value: 3", "value: !!int 3")),
		bad("a truth of YAML 1.1 in the document", spoilt("background: true", "background: yes")),
		bad("a bomb of aliases in the document", spoilt("spec:\n", "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\nspec:\n")),
		bad("9000 lists in the document", spoilt("value: 3", "value: "+strings.Repeat("[", 9000)+strings.Repeat("]", 9000))),
		bad("a line that only some readers see", spoilt("  background: true", "  # \u2028  background: false\n  background: true")),
		bad("a directive for the parser", around("%YAML 1.1\n---\n", "")),
		{name: "a number of base 8 in the document", file: spoilt("value: 3", "value: 0o3"), wants: []string{malformed}},
		{name: "the number as a text", file: spoilt("value: 3", `value: "3"`), wants: []string{"altered"}},
		{name: "a list of signed documents", file: func(t *testing.T, w *world) string {
			list := must.Get(exception.Canonical(
				object{"apiVersion": "v1", "kind": "List", "items": []any{w.honest.Object()}}))(t)
			return string(list)
		}, wants: []string{"kind-not-allowed"}},
	}
}
