package manifest_test

import (
	"math"
	"testing"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

func TestReadable(t *testing.T) {
	object := map[string]any{
		"spec": map[string]any{
			"match":      map[string]any{"any": []any{map[string]any{"resources": map[string]any{"names": []any{"web", "web-?"}, "kinds": []any{"v1/Pod"}}}}},
			"exceptions": []any{map[string]any{"ruleNames": []any{"yes", "a,b", ""}, "policyName": "probes"}},
			"background": false, "number": int64(7),
			"long": []any{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"},
		},
		"apiVersion": "kyverno.io/v2", "kind": "PolicyException",
		"metadata": map[string]any{"name": "a", "annotations": map[string]any{"polex.dev/reason": "two\nlines: \"so\"", "polex.dev/expires-in": "7d", "z": "tab\tand \u2028"}},
	}
	const want = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: a
  annotations:
    polex.dev/expires-in: "7d"
    polex.dev/reason: |-
      two
      lines: "so"
    z: "tab\tand \L"
spec:
  exceptions:
  - policyName: probes
    ruleNames: ["yes", "a,b", ""]
  match:
    any:
    - resources:
        kinds: [v1/Pod]
        names: [web, "web-?"]
  background: false
  long:
  - aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
  - bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
  number: 7
`
	got := must.Get(manifest.Readable(object))(t)
	expect.Equal(t, "result", want, string(got))
}

// TestReadableRefuses: a value that would read back differently is an error.
func TestReadableRefuses(t *testing.T) {
	for name, value := range map[string]any{
		"an empty mapping": map[string]any{}, "nothing": nil, "a float": 1.5, "no number": math.NaN(), "a next line": "a\u0085b", "an int": 7,
		"no text": "\xff",
	} {
		out, err := manifest.Readable(map[string]any{"a": value})
		expect.That(t, err != nil, "%s: %s", name, out)
	}
}

// FuzzReadable: every written text reads back as the same text.
func FuzzReadable(f *testing.F) {
	for _, text := range []string{"a", " a", "a\nb", "a: b", "# a", "~", "\x00", "é", "- a\n  b", "a\n", "|-", "---\na"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		source, err := manifest.Readable(map[string]any{"a": text, "b": []any{text}, "c": []any{map[string]any{text: text}}})
		if err != nil {
			return
		}
		doc, err := exception.Parse(source, "")
		if err != nil || doc.Text("a") != text || doc.Text("b", 0) != text || doc.Text("c", 0, text) != text {
			t.Errorf("%q: %v\n%s", text, err, source)
		}
	})
}
