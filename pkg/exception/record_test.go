package exception_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
)

const (
	recordedOld = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: a, annotations: {polex.dev/recorded-from: api, polex.dev/approved-by: \"WHO\"}}\n"
	recordedNew = "apiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata: {name: a, annotations: {polex.dev/recorded-from: api}}\nspec: {properties: {approved-by: \"WHO\"}}\n"
)

// The approvers of a document are the names in its record, each person once.
func TestApprovals(t *testing.T) {
	for _, tc := range []struct{ name, text, who, want string }{
		{"one", recordedOld, "bob", "bob"},
		{"one, natively", recordedNew, "bob", "bob"},
		{"several", recordedOld, "bob, carol,dave", "bob|carol|dave"},
		{"nobody", recordedOld, "", ""},
		{"nothing between commas", recordedOld, ", ,", ""},
		{"one in two cases", recordedOld, "bob, BOB", "bob"},
		{"one address under two names", recordedOld, "Bob <bob@example.com>, Rob <BOB@example.com>", "Bob <bob@example.com>"},
		{"two addresses under one name", recordedOld, "Bob <bob@example.com>, Bob <bob@example.org>", "Bob <bob@example.com>|Bob <bob@example.org>"},
		{"from nowhere", strings.Replace(recordedOld, "recorded-from: api", "recorded-from: \"\"", 1), "bob", ""},
		{"the annotation of another group", strings.Replace(recordedNew, "from: api", "from: api, polex.dev/approved-by: carol", 1), "bob", "bob"},
	} {
		doc := expect.Value(exception.Parse([]byte(strings.Replace(tc.text, "WHO", tc.who, 1)), "a.yaml"))(t)
		expect.Is(t, tc.name, tc.want, strings.Join(doc.Approvals().Names, "|"))
	}
	approved := exception.Approvals{From: "api", Names: []string{"bob", "Carol <carol@example.com>"}}
	for name, want := range map[string]bool{"bob": true, "Bob": true, "bo": false, "carol": false, "C <CAROL@example.com>": true, "": false} {
		expect.Is(t, name, want, approved.Has(name))
	}
}
