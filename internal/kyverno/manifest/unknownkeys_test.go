package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestUnknownKeys: a key that a person reads as a statement to polex is found in every place where polex does not
// read it, with the nearest key. Keys of others are not.
func TestUnknownKeys(t *testing.T) {
	const annotation, label, property = "metadata: {annotations: {%q: x}}", "metadata: {labels: {%q: x}}", "spec: {properties: {%q: x}}"
	const none = "remove it, or use a key outside of polex.dev; polex reads: polex.dev/reason, polex.dev/ticket, polex.dev/owner, polex.dev/category, " +
		"polex.dev/starts-at, polex.dev/expires-in, polex.dev/expires-at, polex.dev/cluster"
	for _, tc := range []struct{ in, key, hint string }{
		{annotation, "polex.dev/expire-at", `did you mean "polex.dev/expires-at"?`},
		{annotation, "polex.dev/start-at", `did you mean "polex.dev/starts-at"?`},
		{annotation, "polex.dev/clusters", `did you mean "polex.dev/cluster"?`},
		{annotation, "polex.dev/reson", `did you mean "polex.dev/reason"?`},
		{annotation, "polex.dev/Reason", `did you mean "polex.dev/reason"?`},
		{annotation, "Polex.dev/reason", `did you mean "polex.dev/reason"?`},
		{annotation, "polex.de/reason", `did you mean "polex.dev/reason"?`},
		{annotation, "ploex.dev/reason", `did you mean "polex.dev/reason"?`},
		{annotation, "polex.dev.reason", `did you mean "polex.dev/reason"?`},
		{annotation, "polex.dev-reason", `did you mean "polex.dev/reason"?`},
		{annotation, "polex.dev/valid-until", none},
		{annotation, "polex.dev", none},
		{annotation, "x.polex.dev/anything", none},
		{annotation, "polex.io/expires-at", `did you mean "polex.dev/expires-at"?`},
		{annotation, "polex/cluster", `did you mean "polex.dev/cluster"?`},
		{annotation, "polex.acme.example/owner", `did you mean "polex.dev/owner"?`},
		{label, "polex.dev/reason", "write it as an annotation"},
		{label, "polex.dev/team", none},
		{property, "polex.dev/ticket", "write it as an annotation"},
		{property, "expires-in", "write the annotation polex.dev/expires-in"},
		{property, "starts-at", "write the annotation polex.dev/starts-at"},

		{annotation, "polex.dev/cluster", ""},
		{annotation, "polex.dev/merge-commit", ""},
		{annotation, "polex.development/team", ""},
		{annotation, "acme.example/expire-at", ""},
		{annotation, "expires-at", "write the annotation polex.dev/expires-at"},
		{label, "expires-in", "write the annotation polex.dev/expires-in"},
		{label, "cluster", ""},
		{annotation, "owner", ""},
		{label, "polex", ""},
		{label, "acme.example/reason", ""},
		{property, "reason", ""},
		{property, "owner", ""},
		{annotation, "polex.acme.example/until", ""},
	} {
		var got []string
		for _, key := range manifest.UnknownKeys(document(t, fmt.Sprintf(tc.in, tc.key)), nil) {
			got = append(got, key.Hint)
			if !strings.Contains(key.Message, fmt.Sprintf("%q", tc.key)) || key.Path[len(key.Path)-1] != tc.key {
				t.Errorf("%s: %q at %s", tc.key, key.Message, key.Path)
			}
		}
		expect.Is(t, fmt.Sprintf(tc.in, tc.key), tc.hint, strings.Join(got, "; "))
	}
}

// TestUnknownKeysAreBounded: a request can have many such keys.
func TestUnknownKeysAreBounded(t *testing.T) {
	var keys strings.Builder
	for i := range 200 {
		fmt.Fprintf(&keys, "    polex.dev/expires-%05d: x\n    a%05d.dev/expires-in: x\n", i, i)
	}
	d := document(t, "metadata:\n  annotations:\n"+keys.String())
	expect.Is(t, "keys", 100, len(manifest.UnknownKeys(d, nil)))
}

func document(t *testing.T, source string) *exception.Document {
	t.Helper()
	return must.Get(exception.Parse([]byte(source), "a.yaml"))(t)
}
