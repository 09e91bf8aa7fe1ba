package shape_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

var update = flag.Bool("update", false, "write the checks in docs/reference/reasons.md anew")

const reasonsPage = "../../docs/reference/reasons.md"

// TestDocs compares the section "Checks" of docs/reference/reasons.md with the checks, and with hints of the tests.
func TestDocs(t *testing.T) {
	want := section(t)
	raw := must.Get(os.ReadFile(reasonsPage))(t)
	before, rest, _ := strings.Cut(string(raw), "\n## Checks\n")
	got, after, found := strings.Cut(rest, "\n## Other reasons\n")
	must.That(t, found, "the page has no section for the checks")
	if *update {
		got = want
		must.Do(t, os.WriteFile(reasonsPage, []byte(before+"\n## Checks\n"+got+"\n## Other reasons\n"+after), 0o644))
	}
	expect.Equal(t, "docs/reference/reasons.md is out of date; make generate", want, got)
}

const intro = `
These are the checks of ` + "`polex-validate` and `polex-sign`" + `. The levels are those of the preset baseline. Change them under ` + "`shape.checks`" + ` in
` + "`.polex.yaml` to `off`, `warning` or `error`" + `. No setting changes a check marked "always": nobody could sign or apply the exception as it is written, or it reaches
the guard. [Configuration](configuration.md#shape) lists the other keys of the section.
`

func section(t *testing.T) string {
	var b strings.Builder
	b.WriteString(intro)
	for _, c := range shape.Checks {
		if alone := c.Title == "" && len(c.Reasons) == 1; alone {
			fmt.Fprintf(&b, "\n### %s\n\n%s Level: %s.\n", c.Reasons[0].Name, c.About, level(c.Reasons[0]))
			continue
		}
		if c.Title == "" {
			t.Errorf("the check of %s has several reasons and no title", c.Reasons[0].Name)
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s\n", c.Title, c.About)
		for _, r := range c.Reasons {
			fmt.Fprintf(&b, "\n#### %s\n\n%s. Level: %s.\n", r.Name, capital(r.Doc), level(r))
		}
	}
	return b.String()
}

// level returns the levels of a reason.
func level(r shape.Reason) string {
	level := r.Severity.String()
	if r.Milder {
		level += " or warning"
	}
	if r.Fixed {
		level += ", always"
	}
	return level
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
