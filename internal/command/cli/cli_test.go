package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/modcache"
	"github.com/polex-dev/polex/test/must"
	"github.com/polex-dev/polex/test/schema"
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
	for format, published := range map[string]struct{ path, right, wrong string }{
		"json":  {filepath.Join("..", "..", "..", "docs", "report.schema.json"), `"kind": "Report"`, `"kind": "Reports"`},
		"sarif": {filepath.Join(modcache.Dir(t, modcache.SARIF), "report", "sarif", "testdata", "sarif-schema-2.1.0.json"), `"version": "2.1.0"`, `"version": "2.0"`},
	} {
		compiled := schema.Compile(t, published.path)
		for name, r := range map[string]*cli.Report{"findings": report(), "nothing found": {Tool: "polex-verify", Documents: 1}} {
			text := written(t, format, r)
			err := compiled.Validate(schema.Value(t, text))
			expect.That(t, err == nil, "%s, %s: %v\n%s", format, name, err, text)
			expect.That(t, compiled.Validate(schema.Value(t, strings.Replace(text, published.right, published.wrong, 1))) != nil,
				"%s, %s: the schema accepts %s", format, name, published.wrong)
		}
	}
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

// mixed writes a folder of small and large, valid and malformed files, and returns the paths.
func mixed(t *testing.T) (dir string, paths []string) {
	t.Helper()
	dir = t.TempDir()
	document := func(name string) string {
		return "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata:\n  name: " + name + "\n"
	}
	large := document("large") + "spec:\n  text: " + strings.Repeat("x", 100<<10) + "\n"
	contents := []string{document("one"), document("one") + "---\n" + document("two"), "a: b: c\n", "", "# nothing\n", large, large + "---\na: *b\n---\n" + document("last"),
		"{\"kind\": \"x\"}{\"kind\": \"y\"}", "{", strings.Repeat("---\na: 1\n", 2000), strings.Repeat("# padding\n", 6553) + document("limit"), "\x00", document("end")}
	for i, text := range slices.Repeat(contents, 4) {
		path := filepath.Join(dir, fmt.Sprintf("%03d.yaml", i))
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		paths = append(paths, path)
	}
	return dir, paths
}

// TestReadingAhead: files that are read in parallel give the documents and results of files that are
// read one after another, in the same order, on any number of processors.
func TestReadingAhead(t *testing.T) {
	dir, paths := mixed(t)
	var want []string
	for _, path := range paths {
		f := must.Get(os.Open(path))(t)
		for doc, err := range exception.NewReader(f, path).All() {
			var syntax *exception.SyntaxError
			if err == nil {
				want = append(want, doc.Position().String()+" "+doc.Identity().String())
			} else if !errors.As(err, &syntax) {
				t.Fatal(err)
			}
		}
		_ = f.Close()
	}
	refused := map[string]int{}
	for _, processors := range []int{1, 2, 8} {
		runtime.GOMAXPROCS(processors)
		var got []string
		report := &cli.Report{Tool: "polex-validate"}
		cli.Inputs{Paths: []string{dir}, Report: report}.Each(func(doc *exception.Document) {
			got = append(got, doc.Position().String()+" "+doc.Identity().String())
		})
		expect.Equal(t, fmt.Sprintf("on %d processors", processors), want, got)
		refused[fmt.Sprint(report.Documents, report.Count(cli.Refuse), report.Count(cli.Unknown), written(t, "json", report))]++
	}
	runtime.GOMAXPROCS(runtime.NumCPU())
	expect.Is(t, "different reports", 1, len(refused))
}

// TestReadingAheadIsBounded: only a few files are read before the first document is visited.
func TestReadingAheadIsBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range 1000 {
		must.Do(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.yaml", i)), []byte("a: 1\n"), 0o600))
	}
	var opened atomic.Int64
	before := int64(-1)
	inputs := cli.Inputs{Paths: []string{dir}, Report: &cli.Report{}, Skip: func(string) bool { opened.Add(1); return false }}
	inputs.Each(func(*exception.Document) {
		if before < 0 {
			before = opened.Load()
		}
	})
	if most := int64(2*runtime.GOMAXPROCS(0) + 1); before > most || opened.Load() != 1000 {
		t.Errorf("%d files were read before the first document, want at most %d; %d in all", before, most, opened.Load())
	}
}

// TestWriteToDevice: WriteFile writes to a device and does not replace it.
func TestWriteToDevice(t *testing.T) {
	link := filepath.Join(t.TempDir(), "null")
	if err := os.Symlink(os.DevNull, link); err != nil {
		t.Skip(err)
	}
	must.Do(t, cli.WriteFile(link, []byte("a")))
	info, err := os.Lstat(link)
	expect.That(t, err == nil && info.Mode().Type() == os.ModeSymlink, "it was replaced: %v, %v", info, err)
}

// TestOutputsReplaceNoInput: an output that is an input, the configuration, a file that it names or
// another output is rejected before the command runs, by any name of the file.
func TestOutputsReplaceNoInput(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, content := range map[string]string{
		"in/a.yaml": "a", "key.pem": "k", "root.json": "r", "signed/s.yaml": "s", "free.json": "{}", "policies/p.yaml": "p", "ca.pem": "c", ".git/HEAD": "",
		".polex.yaml": "apiVersion: polex.dev/v1alpha1\nkind: Config\ndirectories: {signed: signed}\n" +
			"trust:\n  trustedRoot: root.json\n  authorities:\n  - {name: k, keyFile: key.pem}\n",
	} {
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must.Do(t, os.WriteFile(name, []byte(content), 0o600))
	}
	for link, target := range map[string]string{"link.yaml": "in/a.yaml", "folder": "in"} {
		must.Do(t, os.Symlink(target, link))
	}
	must.Do(t, os.Link("in/a.yaml", "hard.yaml"))
	for _, tc := range []struct{ args, problem string }{
		{"in/a.yaml --report json=in/a.yaml", "would replace the input in/a.yaml"},
		{"in/a.yaml --report json=./in/../in/a.yaml", "would replace the input in/a.yaml"},
		{"in/a.yaml --report json=link.yaml", "would replace the input in/a.yaml"},
		{"link.yaml --report json=in/a.yaml", "would replace the input link.yaml"},
		{"in/a.yaml --report json=hard.yaml", "would replace the input in/a.yaml"},
		{"in --report json=in/a.yaml", "would replace the input in"},
		{"folder --report json=in/a.yaml", "would replace the input folder"},
		{"in --report json=folder/a.yaml", "would replace the input in"},
		{"in --report json=.polex.yaml", "would replace the configuration"},
		{"in --report json=in/.POLEX.yaml", "would replace the configuration"},
		{"in --report json=key.pem", "would replace a file of the trust policy"},
		{"in --report json=root.json", "would replace a file of the trust policy"},
		{"in --report json=signed/s.yaml", "would replace a file of signed"},
		{"in --policies policies --report json=policies/p.yaml", "would replace --policies policies"},
		{"in --key ca.pem --report json=ca.pem", "would replace --key ca.pem"},
		{"in --output-file key.pem", "would replace a file of the trust policy"},
		{"in --output-file new --report json=new", "would replace --report new"},
		{"in --signed-output new/ --report json=new", "would replace --signed-output new/"},
		{"in --report json=folder/../in/a.yaml", "would replace the input in"},
		{"in --report text=new --report json=./NEW", "would replace --report new"},
		{"in --report text=free.json --report json=free.json", "would replace --report free.json"},
		{"in --output-file signed/s.yaml --report json=free.json", ""},
		{"in --report json=in/new.yaml --report text=new", ""},
		{"in --report json=/dev/null --report text=/dev/null", ""},
	} {
		ran := false
		build := func(streams cli.Streams) *cobra.Command {
			cmd := &cobra.Command{Use: "polex-validate", Args: cobra.ArbitraryArgs, RunE: func(*cobra.Command, []string) error { ran = true; return nil }}
			cli.AddFormatFlag(cmd)
			cmd.Flags().String("output-file", "", "")
			cmd.Flags().String("key", "", "")
			cmd.Flags().String("signed-output", "", "")
			cmd.Flags().StringSlice("policies", nil, "")
			cli.Writes(cmd.Flags(), "output-file")
			return cmd
		}
		var stderr bytes.Buffer
		status := cli.Run(context.Background(), build, strings.Fields(tc.args), cli.Streams{In: &stderr, Out: &stderr, Err: &stderr, Now: time.Now})
		if ran != (tc.problem == "") || tc.problem != "" && (status != cli.Usage || !strings.Contains(stderr.String(), tc.problem)) {
			t.Errorf("%s: exit code %d, ran %v: %s", tc.args, status, ran, stderr.String())
		}
	}
}
