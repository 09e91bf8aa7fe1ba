package report

import (
	"encoding/json"
	"fmt"
	"html"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/plain"
)

// TestFieldsDocumented: docs/reference/audit.md and the schema have every field, in the order of the
// CSV, and docs/reference/audit.md has no other.
func TestFieldsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/audit.md")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("../../docs/ledger.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema object
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	var want, got []string
	add := func(path string) {
		want = append(want, fmt.Sprintf("- `%s`", path))
		if !has(schema, schema, strings.Split(path, ".")) {
			t.Errorf("the schema has no %s", path)
		}
	}
	for _, f := range reportFields {
		add(f.path)
	}
	for _, f := range fields {
		add("entries." + f.path)
	}
	_, listed, _ := strings.Cut(string(page), "\n## Fields\n")
	listed, _, _ = strings.Cut(listed, "\n## ")
	for line := range strings.Lines(listed) {
		if path, _, found := strings.Cut(line, ": "); found && strings.HasPrefix(path, "- ") {
			got = append(got, path)
		}
	}
	if !slices.Equal(want, got) {
		t.Errorf("docs/reference/audit.md has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for path, want := range map[string]string{"said.requestedBy": "requested by", "policies.name": "policies: name"} {
		if !strings.Contains(string(page), fmt.Sprintf("`entries.%s` is `%s`", path, want)) || name(path) != want {
			t.Errorf("%s is %q in other formats", path, name(path))
		}
	}
	if has(schema, schema, []string{"entries", "nonsense"}) {
		t.Error("the schema has everything")
	}
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
	v.Totals = v.Sums(2)
	for format, text := range map[string]string{
		"html": html.UnescapeString(unbroken.Replace(written(t, "html", v))), "csv": strings.ReplaceAll(written(t, "csv", v), `""`, `"`),
		"markdown": html.UnescapeString(strings.ReplaceAll(written(t, "markdown", v), "<!-- -->", "")), "table": written(t, "table", v),
	} {
		if strings.Contains(text, "…") {
			t.Errorf("%s cuts a text", format)
		}
		shown := fields
		switch format {
		case "markdown":
			shown = fields[:asked]
		case "table":
			shown = nil
		}
		for _, f := range reportFields {
			for _, value := range f.values(v) {
				if !strings.Contains(text, plain.Line(value)) || !strings.Contains(text, name(f.path)) {
					t.Errorf("%s has no %s %q", format, name(f.path), value)
				}
			}
		}
		for _, e := range v.listed() {
			for _, f := range shown {
				for _, value := range f.values(e) {
					if !strings.Contains(text, plain.Line(value)) && f.path != "exempted.namespaces" {
						t.Errorf("%s has no %s %q", format, name(f.path), value)
					}
				}
			}
		}
	}
	if last := fields[asked-1].path; last != "signing.messageDigest" {
		t.Errorf("the last field that an auditor asks for first is %s", last)
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
		return ledger.Exempted{Namespaces: namespaces, Kinds: []string{kind, "Job"}, Names: []string{"*"}, NarrowedBy: narrowed}
	}
	var got []string
	for _, g := range groups([]*ledger.Entry{
		entry("none"), entry("two", in("Pod", nil, "b", "a", "a"), in("Secret", []string{"users", "images"}, "b")), entry("all", in("Pod", nil, "*")), entry("one", in("Pod", nil, "!")),
	}) {
		for _, m := range g.Members {
			got = append(got, fmt.Sprintf("%s: %s %t %q", where(g.Namespace), m.Identity.Name, m.First, m.exempts()))
		}
	}
	want := []string{
		`any namespace (*): all true ["Pod, Job: *"]`,
		`namespace !: one true ["Pod, Job: *"]`,
		`namespace a: two true ["Pod, Job: *"]`,
		`namespace b: two false ["Pod, Job: *" "Secret, Job: * (only with users; images)"]`,
		`no namespace stated: none true []`,
	}
	if !slices.Equal(want, got) {
		t.Errorf("groups\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
