package report

import (
	"encoding/json"
	"fmt"
	"html"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/internal/usage"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestFieldsDocumented: docs/reference/audit.md and the schema have every field, in the order of the
// CSV, and docs/reference/audit.md has no other.
func TestFieldsDocumented(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/reference/audit.md"))(t)
	raw := must.Get(os.ReadFile("../../docs/ledger.schema.json"))(t)
	var schema object
	must.Do(t, json.Unmarshal(raw, &schema))
	var want, got []string
	add := func(path string) {
		want = append(want, fmt.Sprintf("- `%s`", path))
		expect.That(t, has(schema, schema, strings.Split(path, ".")), "the schema has no %s", path)
	}
	for _, path := range reportFields {
		add(path)
	}
	for _, path := range fields {
		add("entries." + path)
	}
	_, listed, _ := strings.Cut(string(page), "\n## Fields\n")
	listed, _, _ = strings.Cut(listed, "\n## ")
	for line := range strings.Lines(listed) {
		if path, _, found := strings.Cut(line, ": "); found && strings.HasPrefix(path, "- ") {
			got = append(got, path)
		}
	}
	expect.That(t, slices.Equal(want, got),
		"docs/reference/audit.md has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	for path, want := range map[string]string{"said.requestedBy": "requested by", "policies.name": "policies: name"} {
		if !strings.Contains(string(page), fmt.Sprintf("`entries.%s` is `%s`", path, want)) || name(path) != want {
			t.Errorf("%s is %q in other formats", path, name(path))
		}
	}
	expect.That(t, !has(schema, schema, []string{"entries", "nonsense"}), "the schema has everything")
}

type object = map[string]any

// has reports whether a schema has a property at a path, through references and lists.
func has(root, schema object, path []string) bool {
	if len(path) == 0 {
		return true
	}
	if ref, _ := schema["$ref"].(string); ref != "" {
		if has(root, root["$defs"].(object)[strings.TrimPrefix(ref, "#/$defs/")].(object), path) {
			return true
		}
	}
	if items, ok := schema["items"].(object); ok {
		return has(root, items, path)
	}
	properties, _ := schema["properties"].(object)
	next, ok := properties[path[0]].(object)
	return ok && has(root, next, path[1:])
}

// TestFieldsShown: CSV and the page have every value of every entry, and Markdown those that
// an auditor asks for first. No format cuts one.
func TestFieldsShown(t *testing.T) {
	v := large(60)
	long := strings.Repeat("payments-", 28)
	v.Entries[1].Identity.Name, v.Entries[1].Policies[0].Name, v.Entries[1].Said.Owner = long+"e", long+"p", long+"o"
	v.Entries[1].Exempted[0].Names[0] = long + "n"
	v.Entries[2].Request.Moves = []ledger.Move{{Event: v.Entries[2].Request.Event, From: "deploy/a.yaml"}}
	v.Entries[3].Request.Merged = &v.Entries[4].Request.Event
	v.Totals = v.Sums()
	for format, text := range map[string]string{
		"html": html.UnescapeString(unbroken.Replace(written(t, "html", v))), "csv": strings.ReplaceAll(written(t, "csv", v), `""`, `"`),
		"markdown": html.UnescapeString(strings.ReplaceAll(written(t, "markdown", v), "<!-- -->", "")), "table": written(t, "table", v),
	} {
		expect.That(t, !strings.Contains(text, "…"), "%s cuts a text", format)
		shown := fields
		switch format {
		case "markdown":
			shown = fields[:auditorFields]
		case "table":
			shown = nil
		}
		for _, path := range reportFields {
			for _, value := range lookUp(decoded(v.about()), path) {
				if !strings.Contains(text, plain.Line(value)) || !strings.Contains(text, name(path)) {
					t.Errorf("%s has no %s %q", format, name(path), value)
				}
			}
		}
		for _, e := range v.listed() {
			r := rowOf(e)
			for _, path := range shown {
				for _, value := range r.Values(path) {
					if !strings.Contains(text, plain.Line(value)) && path != "exempted.namespaces" {
						t.Errorf("%s has no %s %q", format, name(path), value)
					}
				}
			}
		}
	}
	expect.Is(t, "last field of an auditor", "signing.messageDigest", fields[auditorFields-1])
}

// TestValues: a field has the values of its path in the JSON, one for each element of a list on the
// way, and the words of a commit, an entry or a signer.
func TestValues(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	merged := ledger.Event{Commit: "cd", By: "Ann", At: at}
	e := &ledger.Entry{Version: 2, Policies: []ledger.Policy{{Kind: "ValidatingPolicy", Name: "a"}, {Name: "b", Rules: []string{"x", "y"}}},
		Seal:    &ledger.Seal{Signatures: []ledger.Signature{{Authority: "merge", LogIndex: 910_000_000_123}, {Subject: "eve", LogIndex: -1}}},
		Request: &ledger.Request{Merged: &merged, Moves: []ledger.Move{{Event: merged, From: "a.yaml"}, {Event: ledger.Event{By: "Bo"}, From: "b.yaml"}}},
		Renews:  &ledger.Renewal{}}
	bare := &ledger.Entry{}
	for path, want := range map[string][2]string{
		"version":                     {`["2"]`, `["0"]`},
		"verified":                    {`["false"]`, `["false"]`},
		"policies.name":               {`["ValidatingPolicy/a" "b"]`, `[]`},
		"policies.rules":              {`["" "x, y"]`, `[""]`},
		"signing.signatures.signer":   {`["a public key" "eve, not in the trust policy"]`, `[]`},
		"signing.signatures.logIndex": {`["910000000123" ""]`, `[""]`},
		"requestByGit.at":             {`[""]`, `[""]`},
		"requestByGit.merged":         {`["2026-11-22T12:00:00Z, Ann, cd"]`, `[""]`},
		"requestByGit.moves":          {`["2026-11-22T12:00:00Z, Ann, cd, from a.yaml" ", Bo, , from b.yaml"]`, `[""]`},
		"renews.of":                   {`["not in this history with a valid signature"]`, `[""]`},
	} {
		rows := []row{rowOf(e), rowOf(bare)}
		expect.Is(t, path, want, [2]string{fmt.Sprintf("%q", rows[0].Values(path)), fmt.Sprintf("%q", rows[1].Values(path))})
	}
}

// TestGroups: an entry is in the group of each exempted namespace, with its exempted resources there.
func TestGroups(t *testing.T) {
	entry := func(name string, exempted ...ledger.Exempted) *ledger.Entry {
		e := &ledger.Entry{Exempted: exempted}
		e.Identity.Name = name
		return e
	}
	in := func(kind string, narrowed []string, namespaces ...string) ledger.Exempted {
		return ledger.Exempted{Scope: usage.Scope{Namespaces: namespaces, Kinds: []string{kind, "Job"}, Names: []string{"*"}}, NarrowedBy: narrowed}
	}
	var got []string
	for _, g := range groups([]*ledger.Entry{
		entry("none"), entry("two", in("Pod", nil, "b", "a", "a"), in("Secret", []string{"users", "images"}, "b")), entry("all", in("Pod", nil, "*")), entry("one", in("Pod", nil, "!")),
	}) {
		for _, m := range g.Members {
			got = append(got, fmt.Sprintf("%s: %s %t %q", g.Where(), m.Identity.Name, m.First, m.Exempts()))
		}
	}
	want := []string{
		`any namespace (*): all true ["Pod, Job: *"]`,
		`namespace !: one true ["Pod, Job: *"]`,
		`namespace a: two true ["Pod, Job: *"]`,
		`namespace b: two false ["Pod, Job: *" "Secret, Job: * (only with users; images)"]`,
		`no namespace stated: none true []`,
	}
	expect.That(t, slices.Equal(want, got), "groups\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
}
