package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/modcache"
	"github.com/polex-dev/polex/test/must"
)

// hostile is text that a pull request may contain in names, messages and values.
const hostile = "a\n::error::x\u202e <img src=x> [y](https://evil.example) | @team `z` %0A"

func report() *cli.Report {
	r := &cli.Report{Tool: "polex-validate", Documents: 3, Reasons: []exception.Reason{{Name: "no-expiry", Doc: "the exception has no expiry"}},
		Source: &cli.Source{Revision: hostile, Commit: "0123456789abcdef0123456789abcdef01234567"}}
	r.Add(
		cli.Result{Outcome: cli.Refuse, File: "unsigned/" + hostile + ".yaml", Line: 3, Column: 7, Reason: "no-expiry", Message: hostile, Hint: hostile, Path: "spec", Object: hostile,
			Facts: []cli.Fact{{Label: "signed by", Value: hostile}, {Label: "run", Value: "1"}}},
		cli.Result{Outcome: cli.Warn, File: "b.yaml", Line: 1, Column: 1, Reason: "wildcard-rule", Message: "a pattern"},
		cli.Result{Outcome: cli.Unknown, File: "c.yaml", Reason: "unreadable", Message: "no such file"},
		cli.Result{Outcome: cli.Pass, File: "d.yaml", Line: 1, Column: 1, Reason: "well-shaped"},
	)
	return r
}

func written(t *testing.T, name string, r *cli.Report) string {
	t.Helper()
	format := cli.AddFormatFlag(&cobra.Command{})
	must.Do(t, format.Set(name))
	var out bytes.Buffer
	must.Do(t, format.Write(&out, r))
	return out.String()
}

// TestSchemas checks JSON with polex's JSON Schema, and SARIF with the published one.
func TestSchemas(t *testing.T) {
	for format, schema := range map[string]struct{ path, right, wrong string }{
		"json":  {filepath.Join("..", "..", "..", "docs", "report.schema.json"), `"kind": "Report"`, `"kind": "Reports"`},
		"sarif": {filepath.Join(modcache.Dir(t, modcache.SARIF), "report", "sarif", "testdata", "sarif-schema-2.1.0.json"), `"version": "2.1.0"`, `"version": "2.0"`},
	} {
		compiled := compile(t, schema.path)
		for name, r := range map[string]*cli.Report{"findings": report(), "nothing found": {Tool: "polex-verify", Documents: 1}} {
			text := written(t, format, r)
			err := compiled.Validate(value(t, text))
			expect.That(t, err == nil, "%s, %s: %v\n%s", format, name, err, text)
			expect.That(t, compiled.Validate(value(t, strings.Replace(text, schema.right, schema.wrong, 1))) != nil,
				"%s, %s: the schema accepts %s", format, name, schema.wrong)
		}
	}
}

func compile(t *testing.T, path string) *jsonschema.Schema {
	t.Helper()
	raw := must.Get(os.ReadFile(path))(t)
	compiler := jsonschema.NewCompiler()
	must.Do(t, compiler.AddResource("schema.json", value(t, string(raw))))
	return must.Get(compiler.Compile("schema.json"))(t)
}

func value(t *testing.T, text string) any {
	t.Helper()
	return must.Get(jsonschema.UnmarshalJSON(strings.NewReader(text)))(t)
}

// TestHostileTextStaysText: in every format, text of a document cannot end a line, change the
// direction of writing, or become a command, a tag, a link or a table cell.
func TestHostileTextStaysText(t *testing.T) {
	for format, never := range map[string][]string{
		"text":     {"\u202e", "\n::", "\x1b"},
		"github":   {"\u202e", "\n::error::x", "::error::x"},
		"markdown": {"\u202e", "<img", "](", "https://", "@team", "`"},
		"json":     {"\u202e <", "<img", "\n::"},
		"sarif":    {"\u202e", "<img", "\n::"},
	} {
		text := written(t, format, report())
		for _, s := range never {
			expect.That(t, !strings.Contains(text, s), "%s has %q:\n%s", format, s, text)
		}
		expect.That(t, strings.Contains(text, "no-expiry"), "%s does not give the reason:\n%s", format, text)
	}
	for _, line := range strings.Split(strings.TrimSpace(written(t, "markdown", report())), "\n")[4:] {
		expect.That(t, strings.Count(line, "|") == 4, "a row of %d cells: %s", strings.Count(line, "|")-1, line)
	}
}

// TestHelpOfRules: every rule of SARIF leads to its reason.
func TestHelpOfRules(t *testing.T) {
	page := must.Get(os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "reasons.md")))(t)
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct {
					Rules []struct{ ID, HelpURI string }
				}
			}
		}
	}
	must.Do(t, json.Unmarshal([]byte(written(t, "sarif", report())), &log))
	rules := log.Runs[0].Tool.Driver.Rules
	for _, rule := range rules {
		anchor, found := strings.CutPrefix(rule.HelpURI, "https://github.com/polex-dev/polex/blob/main/docs/reference/reasons.md#")
		if !found || anchor != rule.ID || !strings.Contains(string(page), "\n### "+anchor+"\n") && !strings.Contains(string(page), "\n#### "+anchor+"\n") {
			t.Errorf("the help of %s is %q", rule.ID, rule.HelpURI)
		}
	}
	expect.Is(t, "rules", 3, len(rules))
}

// TestCountPassed: a report that only counts passed documents gives the same output in all formats
// that do not list them.
func TestCountPassed(t *testing.T) {
	all := report()
	counting := &cli.Report{Tool: all.Tool, Source: all.Source, Documents: all.Documents, Reasons: all.Reasons, CountPassed: true}
	counting.Add(all.Results()...)
	if kept := len(counting.Results()); kept != len(all.Results())-1 || counting.Count(cli.Pass) != 1 {
		t.Errorf("%d results are kept, %d passed", kept, counting.Count(cli.Pass))
	}
	for _, name := range []string{"text", "json", "sarif", "github", "markdown"} {
		format := cli.AddFormatFlag(&cobra.Command{})
		must.Do(t, format.Set(name))
		if same := written(t, name, counting) == written(t, name, all); same == format.Writes("json") {
			t.Errorf("%s:\n%s", name, written(t, name, counting))
		}
	}
}

// TestText: facts are below their line, with aligned values.
func TestText(t *testing.T) {
	text := written(t, "text", report())
	for _, want := range []string{"\n    signed by  a\\n:\\x3aerror", "\n    run        1\n", "\n3 documents of commit 0123456789ab: 1 refusal"} {
		expect.That(t, strings.Contains(text, want), "there is no %q in\n%s", want, text)
	}
}

func TestMarkdownIsBounded(t *testing.T) {
	r := &cli.Report{Tool: "polex-validate", Documents: 1}
	for range 5000 {
		r.Add(cli.Result{Outcome: cli.Refuse, File: "a.yaml", Reason: "no-expiry", Message: strings.Repeat("x", 100)})
	}
	text := written(t, "markdown", r)
	expect.That(t, len(text) <= 1<<20 && strings.Contains(text, "and 4500 more"), "%d bytes", len(text))
}

func TestJSON(t *testing.T) {
	var out struct {
		APIVersion, Kind string
		Summary          map[string]int
		Results          []cli.Result
	}
	must.Do(t, json.Unmarshal([]byte(written(t, "json", report())), &out))
	if out.APIVersion != "polex.dev/v1alpha1" || out.Kind != "Report" || len(out.Results) != 4 || out.Summary["exitStatus"] != cli.Undecided {
		t.Errorf("%+v", out)
	}
	expect.Is(t, "the message", hostile, out.Results[3].Message)
}

// TestProgress: the number of an activity never becomes smaller, and nothing is shown in the first second.
func TestProgress(t *testing.T) {
	var out bytes.Buffer
	began := time.Now()
	p := cli.StartProgress(&out, "reading")
	for _, tc := range []struct {
		doing       string
		done, total int
		after       time.Duration
		want        string
	}{
		{"reading", 0, 0, 0, ""},
		{"reading", 0, 0, 12 * time.Second, "reading (12 s)"},
		{"reading", 4, 0, 12 * time.Second, "reading: 4 (12 s)"},
		{"reading", 3, 0, 13 * time.Second, "reading: 4 (13 s)"},
		{"verifying", 1, 9, 14 * time.Second, "verifying: 1 of 9 (14 s)"},
		{"verifying", 7, 9, 15 * time.Second, "verifying: 7 of 9 (15 s)"},
		{"verifying", 5, 9, 16 * time.Second, "verifying: 7 of 9 (16 s)"},
	} {
		p.Tell(tc.doing, tc.done, tc.total)
		expect.Is(t, "after "+tc.after.String(), tc.want, p.Line(began.Add(tc.after+500*time.Millisecond)))
	}
	p.Stop()
	p.Stop()
	expect.That(t, out.Len() == 0, "without a terminal: %q", out.String())
}
