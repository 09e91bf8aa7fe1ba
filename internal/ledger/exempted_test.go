package ledger

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestExempted: the sets never are smaller than what the exception exempts.
func TestExempted(t *testing.T) {
	match := func(text string) string { return "kyverno.io/v2\nspec:\n  match: " + text }
	conditions := func(texts ...string) string {
		all := "policies.kyverno.io/v1\nspec:\n  matchConditions:\n"
		for i, text := range texts {
			all += fmt.Sprintf("  - {name: c%d, expression: %q}\n", i, text)
		}
		return all
	}
	var many []string
	for i := range maxListed + 1 {
		many = append(many, fmt.Sprint("n", i))
	}
	for spec, want := range map[string][]string{
		match("{any: [{resources: {kinds: [Pod], namespaces: [a, b], names: [x], name: z}}]}"):                                                        {"a b|Pod|x z|"},
		match("{any: [{resources: {kinds: [Pod]}}, {resources: {names: [\"*\"]}}]}"):                                                                  {"*|Pod|*|", "*|*|*|"},
		match("{all: [{resources: {kinds: [Pod]}}]}"):                                                                                                 {"*|Pod|*|"},
		match("{all: [{resources: {kinds: [Pod]}}, {resources: {namespaces: [a], kinds: [Job]}}]}"):                                                   {"a|Pod|*|other filters of the match"},
		match("{any: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Job]}}], all: [{resources: {namespaces: [a]}}]}"):                             {"a|Pod|*|other filters of the match", "a|Job|*|other filters of the match"},
		match("{any: [{resources: {kinds: [Pod], selector: {matchLabels: {b: c, a: b}}, annotations: {x: z}}, roles: [r]}]}"):                         {"*|Pod|*|labels a=b, b=c; annotations; users"},
		match("{any: [{resources: {kinds: [Pod], namespaces: [" + strings.Join(many, ", ") + "]}}]}"):                                                 {"*|Pod|*|101 namespaces"},
		match("{any: [{resources: {kinds: [Pod], namespaces: 7}}]}"):                                                                                  {"*|*|*|fields of another type than polex reads"},
		match("{any: [{resources: {kinds: [Pod]}}]}\n  conditions: {all: [{key: a, operator: Equals, value: b}]}\n  podSecurity: [{controlName: c}]"): {"*|Pod|*|preconditions; Pod Security controls"},
		match("{}"): nil,
		conditions("object.kind == 'Pod' && object.metadata.namespace in ['a', 'b']", "object.metadata.name == 'x'"): {"a b|Pod|x|"},
		conditions("object.kind == 'Pod' && object.metadata.name.contains('x') && object.size() > 2"):                {"*|*|*|match conditions: object.kind == 'Pod' && object.metadata.name.contains('x') && object.size() > 2"},
		"policies.kyverno.io/v1\nspec: {images: [\"*\"]}":                                                            {"*|*|*|images"},
	} {
		doc, err := exception.Parse([]byte("metadata: {name: e}\nkind: PolicyException\napiVersion: "+spec+"\n"), "")
		must.That(t, err == nil, "%v\n%s", err, spec)
		var got []string
		for _, x := range exemptedBy(kyverno.Read(doc)) {
			got = append(got, strings.Join([]string{strings.Join(x.Namespaces, " "), strings.Join(x.Kinds, " "), strings.Join(x.Names, " "), strings.Join(x.NarrowedBy, "; ")}, "|"))
		}
		expect.Equal(t, spec, want, got)
	}
}

// TestWeigh: a policy has the highest severity that its documents state, and one that no document states has none.
func TestWeigh(t *testing.T) {
	var docs []*exception.Document
	for _, text := range []string{"{name: a, annotations: {policies.kyverno.io/severity: low}}", "{name: a, annotations: {policies.kyverno.io/severity: high}}", "{name: b, annotations: {policies.kyverno.io/severity: huge}}"} {
		doc := must.Get(exception.Parse(
			[]byte("apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: "+text+"\n"), ""))(t)
		docs = append(docs, doc)
	}
	e := &Entry{Policies: []Policy{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	e.Identity.Group = exception.KyvernoGroup
	(&Ledger{Entries: []*Entry{e}}).Weigh(kyverno.ReadPolicies(docs))
	for i, want := range []string{"high", "unknown", "unknown"} {
		expect.Is(t, e.Policies[i].Name, want, e.Policies[i].Severity)
	}
}

// TestTimes: every time of a document or a commit can be written to the report.
func TestTimes(t *testing.T) {
	for text, want := range map[string]string{
		"2026-11-22T13:00:00.9+01:00": `"2026-11-22T12:00:00Z"`,
		"9999-12-31T23:59:59-23:59":   `"0001-01-01T00:00:00Z"`, // in UTC, the year is 10000
	} {
		at := must.Get(time.Parse(time.RFC3339, text))(t)
		raw, err := json.Marshal(inUTC(at))
		expect.That(t, err == nil && string(raw) == want, "%s: %s, %v", text, raw, err)
	}
}
