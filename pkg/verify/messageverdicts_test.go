package verify_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sigstore/fulcio/pkg/certificate"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// messageVerdicts are about messages with a valid signature and log entry that are not one plain
// document.
func messageVerdicts(w *world) []verdict {
	plain := w.until(week)
	bad := func(name, message string) verdict {
		return verdict{name: name, want: verify.ReasonBadMessage, doc: text(func(*testing.T, *world) string { return message })}
	}
	bomb := "a0: [x]\n"
	for i := 1; i < 10; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
	}
	return []verdict{
		bad("null", "null\n"),
		{name: "null under a junk signature", want: verify.ReasonEvidenceMismatch, doc: func(t *testing.T, w *world) *exception.Document {
			return annotated(map[string]any{"cosign.sigstore.dev/message": packed(t, "null\n"), "cosign.sigstore.dev/signature": "AAAA"})(t, w)
		}},
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
		// A message by an untrusted signer is never parsed: the signer is the reason for any
		// content.
		{name: "1e6 values by a stranger", differs: otherClaims, want: verify.ReasonWrongIdentity, doc: byStranger("a: [" + strings.Repeat("? b,", 200_000) + "]\n")},
		{name: "no YAML by a stranger", differs: otherClaims, want: verify.ReasonWrongIdentity, doc: byStranger("a: [")},
		bad("a number to kubectl, text to others", swapped(plain, "value: 3", "value: -_9")),
		{name: "a text that kubectl ends with a line break", want: verify.ReasonAltered, doc: text(func(*testing.T, *world) string {
			return strings.TrimSuffix(swapped(plain, "value: 3", "value: |\n            3"), "\n")
		})},
		bad("a separator to kubectl, a key to others", plain+"---#x: y\n"),
		{name: "a list to kubectl", want: verify.ReasonKindNotAllowed, doc: func(t *testing.T, w *world) *exception.Document { return w.sealed(t, plain+"items: []\n", set{}) }},
		bad("a line break that only some know", swapped(plain, "the vendor", "the\u2028vendor")),
		bad("a signature inside the message", swapped(plain, "polex.dev/reason", "cosign.sigstore.dev/signature: AAAA\n    polex.dev/reason")),
		{name: "a list", want: verify.ReasonKindNotAllowed, doc: listOf(plain)},
		{name: "a list's item", want: verify.ReasonAltered, doc: text(func(*testing.T, *world) string { return listText(plain) })},
		{name: "the message as JSON", doc: func(t *testing.T, w *world) *exception.Document {
			return w.sealedText(t, jsonOf(t, parse(t, plain)))
		}},
	}
}

// byStranger is any message with a valid signature and log entry by an untrusted signer.
func byStranger(message string) maker {
	return func(t *testing.T, w *world) *exception.Document {
		return w.sealedTextBy(t, message, set{identity: func(e *certificate.Extensions) { e.SourceRepositoryURI = "https://github.com/evil/exceptions" }})
	}
}

func listText(yaml string) string {
	return "apiVersion: v1\nkind: List\nitems:\n- " + strings.TrimSpace(strings.ReplaceAll(yaml, "\n", "\n  ")) + "\n"
}

// listOf signs a list in the form of kubectl get, with a valid signature.
func listOf(yaml string) maker {
	return func(t *testing.T, w *world) *exception.Document {
		return w.sealed(t, "apiVersion: v1\nkind: List\nmetadata:\n  annotations:\n    a: b\nitems:\n- "+strings.TrimSpace(strings.ReplaceAll(yaml, "\n", "\n  "))+"\n", set{})
	}
}
