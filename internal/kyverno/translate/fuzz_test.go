package translate_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"

	"github.com/polex-dev/polex/internal/kyverno/translate"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// FuzzTranslate checks that a translation gives notes, an error, or a valid document with a valid condition.
func FuzzTranslate(f *testing.F) {
	f.Add([]byte(legacy))
	f.Add([]byte(spoken))
	head, _, _ := strings.Cut(legacy, "  match:\n")
	for _, match := range matches {
		f.Add([]byte(head + "  background: false\n  match: {" + match + "}\n"))
	}
	env := must.Get(cel.NewEnv(cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType),
		cel.Variable("request", cel.DynType), cel.Variable("namespaceObject", cel.DynType)))(f)
	f.Fuzz(func(t *testing.T, source []byte) {
		doc, err := exception.Parse(source, "")
		if err != nil {
			return
		}
		out, notes, err := translate.Exception(doc, whole)
		if err != nil || len(notes) > 0 {
			must.That(t, out == nil && (err == nil || notes == nil), "%v, and %q, and %v", err, out, notes)
			return
		}
		translated := must.Get(exception.Parse(out, ""))(t)
		if exc, ok := translated.Exception(); !ok || exc.Identity.Group != exception.PoliciesGroup || exc.Identity.Name != doc.Identity().Name || exc.Identity.Namespace != doc.Identity().Namespace {
			t.Fatalf("it is no longer the same exception:\n%s", out)
		}
		_, issues := env.Compile(translated.Text("spec", "matchConditions", 0, "expression"))
		must.That(t, issues.Err() == nil, "%v\n%s", issues.Err(), out)
		again, _, _ := translate.Exception(doc, whole)
		must.That(t, bytes.Equal(again, out), "twice is not the same:\n%s%s", out, again)
	})
}

// TestTranslateIsBounded translates documents that would take minutes if all pairs of entries were compared.
func TestTranslateIsBounded(t *testing.T) {
	head, _, _ := strings.Cut(legacy, legacyMatch)
	_, notes, err := translated(t, head+"  match: {any: [{resources: {selector: {matchLabels: {"+numbered("'a%d*': 'b'", 10000)+"}}}}]}\n", whole)
	expect.That(t, err == nil && len(notes) == 200, "patterns of labels: %d notes, %v", len(notes), err)
	source, notes, err := translated(t, replaced(legacy, "  match:\n", strings.Repeat("  - {policyName: require-probes, ruleNames: [a]}\n", 10000)+"  match:\n"), whole)
	expect.That(t, err == nil && len(notes) == 0 && strings.Count(source, "require-probes") == 1,
		"one policy many times: %d notes, %v", len(notes), err)
	if _, _, err := translated(t, head+"  match: {any: ["+numbered("{resources: {kinds: [Pod], names: ['a%d*']}}", 5000)+"]}\n", whole); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a translation that no document can hold: %v", err)
	}
}

func numbered(format string, n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(out, ", ")
}
