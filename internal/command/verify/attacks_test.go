package verify

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/attacks"
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/verify"
)

var update = flag.Bool("update", false, "write docs/reference/reasons.md anew")

// TestAttacks runs the command on every case of the attack corpus. It must report the expected
// result of each document, with the matching exit code.
func TestAttacks(t *testing.T) {
	for _, c := range corpus(t) {
		t.Run(c.Name, func(t *testing.T) {
			out, status := judge(t, c, "-o", "json")
			var report struct {
				Results []struct{ Reason string }
			}
			if err := json.Unmarshal(out, &report); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var got []string
			for _, r := range report.Results {
				got = append(got, r.Reason)
			}
			if diff := cmp.Diff(c.Expect, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", c.Title, diff)
			}
			want := cli.Passed
			if slices.ContainsFunc(c.Expect, func(reason string) bool { return reason != attacks.Verified }) {
				want = cli.Refused
			}
			if status != want {
				t.Errorf("exit status %d, want %d", status, want)
			}
		})
	}
}

// judge runs the command on a case, in a folder with its files and at its time.
func judge(t *testing.T, c *attacks.Case, flags ...string) (out []byte, status int) {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string][]byte{attacks.PolicyFile: c.Policy, attacks.RootFile: c.Root, c.File: c.Input} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	var stdout, stderr bytes.Buffer
	args := append([]string{"--config", attacks.PolicyFile, c.File}, flags...)
	status = cli.Run(t.Context(), New, args, cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr, Now: func() time.Time { return c.Now }})
	if stderr.Len() > 0 {
		t.Errorf("on standard error: %s", stderr.Bytes())
	}
	return stdout.Bytes(), status
}

func corpus(t *testing.T) []*attacks.Case {
	t.Helper()
	cases, err := attacks.Read()
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

const reasonsPage = "../../../docs/reference/reasons.md"

// TestReasonsPage compares docs/reference/reasons.md with the attack corpus: the page shows the
// output of the command.
func TestReasonsPage(t *testing.T) {
	page, err := filepath.Abs(reasonsPage)
	if err != nil {
		t.Fatal(err)
	}
	want := reasonsText(t)
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/reference/reasons.md is out of date; go test ./internal/command/verify -run TestReasonsPage -update (-want +got):\n%s", diff)
	}
}

const pageIntro = `# Rejection reasons of polex-verify

Every rejection has a reason: one word that is the same in text, JSON, SARIF, admission messages and metrics. The list is closed, and
a reason never changes its meaning. The first of the [verification steps](../../pkg/verify/doc.go) that fails gives the reason.

The examples are cases of the [attack corpus](../../internal/attacks/corpus), with the output of the command. Encoded values are cut.

`

func reasonsText(t *testing.T) string {
	t.Helper()
	cases := corpus(t)
	var table, sections strings.Builder
	for _, reason := range verify.Reasons() {
		fmt.Fprintf(&table, "| [%s](#%s) | %s |\n", reason.Name, reason.Name, reason.Doc)
		section(t, &sections, cases, reason.Name, reason.Doc)
	}
	var reading strings.Builder
	for _, r := range append(cli.Reasons(), ownReasons()...) {
		fmt.Fprintf(&table, "| [%s](#%s) | %s |\n", r.Name, r.Name, r.Doc)
		section(t, &reading, cases, r.Name, r.Doc)
	}
	return pageIntro + "| reason | problem |\n| --- | --- |\n" + table.String() + sections.String() +
		"\n# Before a document is verified\n" + reading.String()
}

// section writes the description of a reason, its shortest case, and the names of its other cases.
func section(t *testing.T, b *strings.Builder, cases []*attacks.Case, reason, doc string) {
	t.Helper()
	fmt.Fprintf(b, "\n## %s\n\n%s.\n", reason, strings.ToUpper(doc[:1])+doc[1:])
	var of []*attacks.Case
	for _, c := range cases {
		if slices.Contains(c.Expect, reason) {
			of = append(of, c)
		}
	}
	if len(of) == 0 {
		return
	}
	shown := slices.MinFunc(of, func(a, b *attacks.Case) int {
		return len(a.Expect)*1_000_000 + len(a.Input) - len(b.Expect)*1_000_000 - len(b.Input)
	})
	out, _ := judge(t, shown)
	fmt.Fprintf(b, "\n[%s](../../internal/attacks/corpus/%s.txtar):\n\n```yaml\n%s```\n\n```text\n$ polex-verify --config %s %s\n%s```\n",
		title(shown), shown.Name, abridged(string(shown.Input)), attacks.PolicyFile, shown.File, out)
	if len(of) == 1 {
		return
	}
	fmt.Fprintf(b, "\nOther cases:\n\n")
	for _, c := range of {
		if c != shown {
			fmt.Fprintf(b, "- [%s](../../internal/attacks/corpus/%s.txtar)\n", title(c), c.Name)
		}
	}
}

var special = regexp.MustCompile("[\\[\\]{}*_<>`\\\\|]")

func title(c *attacks.Case) string {
	text := special.ReplaceAllString(c.Title, `\$0`)
	return strings.ToUpper(text[:1]) + text[1:]
}

var encoded = regexp.MustCompile(`[A-Za-z0-9+/=]{48,}`)

// abridged shortens encoded text and long files for readers.
func abridged(text string) string {
	text = encoded.ReplaceAllStringFunc(text, func(long string) string { return long[:24] + "…" })
	const most = 60
	if lines := strings.SplitAfter(text, "\n"); len(lines) > most {
		text = strings.Join(lines[:most], "") + "…\n"
	}
	return strings.TrimRight(text, "\n") + "\n"
}
