package verify_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/attacks"
	"github.com/polex-dev/polex/test/expect"
)

// fileVerdicts are about files with more than one plain document, or with none.
func fileVerdicts(w *world) []verdict {
	const malformed, unsigned, twice = "malformed", "unsigned", "duplicate-identity"
	around := func(before, behind string) func(*testing.T, *world) string {
		return func(_ *testing.T, w *world) string { return before + string(w.honest.Source()) + behind }
	}
	spoilt := func(old, with string) func(*testing.T, *world) string {
		return func(t *testing.T, w *world) string { return replaced(t, string(w.honest.Source()), old, with) }
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
			again := w.sealed(t, replaced(t, w.until(week), "vendor-*", "vendor-b"), set{})
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
			list := expect.Value(exception.Canonical(
				object{"apiVersion": "v1", "kind": "List", "items": []any{w.honest.Object()}}))(t)
			return string(list)
		}, wants: []string{"kind-not-allowed"}},
	}
}
