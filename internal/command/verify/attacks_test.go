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

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/attacks"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

var update = flag.Bool("update", false, "write the first part of docs/reference/reasons.md anew")

// TestAttacks runs the command on every case of the attack corpus. It must report the expected
// result of each document, with the matching exit code.
func TestAttacks(t *testing.T) {
	for _, c := range corpus(t) {
		t.Run(c.Name, func(t *testing.T) {
			out, status := judge(t, c, "-o", "json")
			var report struct {
				Results []struct{ Reason string }
			}
			err := json.Unmarshal(out, &report)
			must.That(t, err == nil, "%v\n%s", err, out)
			var got []string
			for _, r := range report.Results {
				got = append(got, r.Reason)
			}
			expect.Equal(t, c.Title, c.Expect, got)
			want := cli.Passed
			if slices.ContainsFunc(c.Expect, func(reason string) bool { return reason != attacks.Verified }) {
				want = cli.Refused
			}
			expect.Is(t, "exit status", want, status)
		})
	}
}

// judge runs the command on a case, in a folder with its files and at its time.
func judge(t *testing.T, c *attacks.Case, flags ...string) (out []byte, status int) {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string][]byte{attacks.PolicyFile: c.Policy, attacks.RootFile: c.Root, c.File: c.Input} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	t.Chdir(dir)
	var stdout, stderr bytes.Buffer
	args := append([]string{"--config", attacks.PolicyFile, c.File}, flags...)
	status = cli.Run(t.Context(), New, args, cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr, Now: func() time.Time { return c.Now }})
	expect.That(t, stderr.Len() == 0, "on standard error: %s", stderr.Bytes())
	return stdout.Bytes(), status
}

func corpus(t *testing.T) []*attacks.Case {
	t.Helper()
	return must.Get(attacks.Read())(t)
}

const reasonsPage = "../../../docs/reference/reasons.md"

// TestReasonsPage compares the first part of docs/reference/reasons.md with the attack corpus: it shows
// the output of the command.
func TestReasonsPage(t *testing.T) {
	page := must.Get(filepath.Abs(reasonsPage))(t)
	want := reasonsText(t)
	raw := must.Get(os.ReadFile(page))(t)
	got, rest, found := strings.Cut(string(raw), "\n## Checks\n")
	must.That(t, found, "the page has no second part")
	if *update {
		got = want
		must.Do(t, os.WriteFile(page, []byte(got+"\n## Checks\n"+rest), 0o600))
	}
	expect.Equal(t, "docs/reference/reasons.md is out of date; make generate", want, got)
}

const pageIntro = `# Reasons

Every finding has a reason: one word that is the same in text, JSON, SARIF, admission messages and metrics. A reason never changes its meaning. This page is generated
from the code: [verification](#verification), the [checks](#checks) of exceptions, and the [other reasons](#other-reasons).

## Verification

` + "These are the reasons of `polex-verify`, and of the guard for a creation or an update. The first of the [verification steps](../../pkg/verify/doc.go) that fails gives the reason." + `
Each output is that of one case of the [attack corpus](../../test/attacks/corpus).
`

var counts = regexp.MustCompile(`(?m)^\d+ documents?: .*\n`)

func reasonsText(t *testing.T) string {
	t.Helper()
	cases := corpus(t)
	var sections strings.Builder
	sections.WriteString(pageIntro)
	for _, reason := range slices.Concat(verify.Reasons(), cli.Reasons(), ownReasons()) {
		section(t, &sections, cases, reason)
	}
	return sections.String()
}

// section writes the description of a reason and the output for its shortest case.
func section(t *testing.T, b *strings.Builder, cases []*attacks.Case, reason exception.Reason) {
	t.Helper()
	fmt.Fprintf(b, "\n### %s\n\n%s.\n", reason.Name, strings.ToUpper(reason.Doc[:1])+reason.Doc[1:])
	var of []*attacks.Case
	for _, c := range cases {
		if slices.Contains(c.Expect, reason.Name) {
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
	fmt.Fprintf(b, "\n```text\n%s```\n", counts.ReplaceAll(out, nil))
}
