package shape_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/pkg/shape"
)

var update = flag.Bool("update", false, "write docs/reference/checks.md anew")

const checksPage = "../../docs/reference/checks.md"

// TestDocs compares docs/reference/checks.md with the checks and with examples of the tests.
func TestDocs(t *testing.T) {
	want := page(t)
	if *update {
		if err := os.WriteFile(checksPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(checksPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/reference/checks.md is out of date; make generate (-want +got):\n%s", diff)
	}
}

const pageIntro = `# Checks of polex-validate

Every finding has a reason, the same word in every output format, in the configuration and on this page. The levels below are those of the preset baseline. Change
them under ` + "`shape.checks`" + ` in ` + "`.polex.yaml`" + ` to ` + "`off`, `warning` or `error`" + `. No setting changes a check marked "always": nobody could sign or apply the exception as it is
written, or it reaches the guard. [Configuration](configuration.md#shape) lists the other keys of the section.

`

func page(t *testing.T) string {
	var b strings.Builder
	b.WriteString(pageIntro + "| reason | meaning | level |\n| --- | --- | --- |\n")
	for _, r := range shape.Reasons() {
		level := r.Severity.String()
		if r.Fixed {
			level += ", always"
		}
		if r.Milder {
			level += " or warning"
		}
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", r.Name, r.Name, r.Doc, level)
	}
	all := examples(t)
	for _, c := range shape.Checks {
		title := c.Title
		if title == "" {
			title = capital(strings.ReplaceAll(c.Reasons[0].Name, "-", " "))
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", title, c.About)
		for _, r := range c.Reasons {
			if s, is := all[r.Name]; is {
				b.WriteString(example(t, s.change, s.Finding))
			}
		}
	}
	return b.String()
}

// shown is a case with one of its findings.
type shown struct {
	change
	shape.Finding
	alone bool
}

// examples returns for each reason the first case with no other finding, or the first one.
func examples(t *testing.T) map[string]shown {
	t.Helper()
	all := map[string]shown{}
	for _, file := range slices.Sorted(maps.Keys(cases())) {
		for _, c := range cases()[file] {
			found := c.findings(t)
			for _, f := range found {
				if before, is := all[f.Reason]; !is || len(found) == 1 && !before.alone {
					all[f.Reason] = shown{c, f, len(found) == 1}
				}
			}
		}
	}
	return all
}

// example returns the lines around a finding, and its message.
func example(t *testing.T, c change, f shape.Finding) string {
	var b strings.Builder
	lines := strings.Split(strings.TrimRight(string(c.document(t).Source()), "\n"), "\n")
	around := lines[max(0, f.Position.Line-2):min(len(lines), f.Position.Line+2)]
	fmt.Fprintf(&b, "\n### %s\n\n```yaml\n%s\n```\n\n", f.Reason, strings.Join(around, "\n"))
	severity := ""
	if f.Severity == shape.Warning {
		severity = "warning: "
	}
	fmt.Fprintf(&b, "```text\n%s: %s%s [%s]\n", f.Position, severity, f.Message, f.Reason)
	if f.Hint != "" {
		fmt.Fprintf(&b, "    hint: %s\n", f.Hint)
	}
	b.WriteString("```\n")
	return b.String()
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
