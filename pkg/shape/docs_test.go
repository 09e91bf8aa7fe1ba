package shape_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/pkg/shape"
)

var update = flag.Bool("update", false, "write docs/checks.md anew")

const checksPage = "../../docs/checks.md"

// TestDocs holds docs/checks.md against the checks: their prose is the comment
// above each, their examples are its cases, and what is printed there is what
// the checker says.
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
		t.Errorf("docs/checks.md is out of date; go test ./pkg/shape -run TestDocs -update (-want +got):\n%s", diff)
	}
}

const pageIntro = `# What polex-validate checks

Every finding has a reason, which is the same word in every format, in the configuration and here. Those marked "always"
cannot be switched off or made a warning, because what they refuse could not be signed or applied as it is written, or
would reach what guards exceptions; the others take ` + "`off`, `warning` or `error`" + ` under ` + "`shape.checks`" + ` in ` + "`.polex.yaml`" + `.

`

func page(t *testing.T) string {
	var b strings.Builder
	b.WriteString(pageIntro + "| reason | what is wrong | always |\n| --- | --- | --- |\n")
	for _, r := range shape.Reasons() {
		always := ""
		if r.Fixed {
			always = "always"
		}
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", r.Name, r.Name, r.Doc, always)
	}
	shown := map[string]bool{}
	for _, file := range slices.Sorted(maps.Keys(cases())) {
		text := prose(t, file)
		if text == "" {
			continue // it helps another check
		}
		b.WriteString("\n" + text)
		for _, c := range cases()[file] {
			for _, f := range c.findings(t) {
				if !shown[f.Reason] && foundBy(file, f.Reason) {
					shown[f.Reason] = true
					b.WriteString(example(t, c, f))
				}
			}
		}
	}
	for _, r := range shape.Reasons() {
		if !shown[r.Name] {
			fmt.Fprintf(&b, "\n### %s\n\n%s.\n", r.Name, capital(r.Doc))
		}
	}
	return b.String()
}

// foundBy reports whether a check's file names the reason's constant: a case can
// be found by other checks besides.
func foundBy(file, reason string) bool {
	raw, err := os.ReadFile(file + ".go")
	if err != nil {
		return false
	}
	if file == "schema" {
		return true
	}
	var name strings.Builder
	for part := range strings.SplitSeq(reason, "-") {
		name.WriteString(capital(part))
	}
	return strings.Contains(string(raw), "Reason"+name.String()+",")
}

// example shows the lines around a finding, and what is printed about it.
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

// prose returns the comment above the check of a file as a heading and a
// paragraph, or "" where the file holds no check.
func prose(t *testing.T, file string) string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(".", file+".go"), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range parsed.Decls {
		function, ok := decl.(*ast.FuncDecl)
		if !ok || function.Doc == nil {
			continue
		}
		text := strings.ReplaceAll(strings.TrimSpace(function.Doc.Text()), "\n", " ")
		if text, found := strings.CutPrefix(text, function.Name.Name+" finds "); found {
			return "## " + heading(function.Name.Name) + "\n\nFinds " + text + "\n"
		}
	}
	return ""
}

// heading makes words of a method's name.
func heading(name string) string {
	var b strings.Builder
	for _, r := range capital(name) {
		if r >= 'A' && r <= 'Z' && b.Len() > 0 {
			b.WriteByte(' ')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
