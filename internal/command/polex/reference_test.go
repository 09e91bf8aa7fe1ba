package polex_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/polex"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

var update = flag.Bool("update", false, "write docs/reference/commands.md")

const pageIntro = `# Commands

This page is generated from the commands: the text of ` + "`--help`" + ` without its examples, and every flag.

- ` + "`polex COMMAND` is the same as `polex-COMMAND`. `polex promote` is `polex-sign promote`, and `polex notify` is `polex-audit notify`" + `.
- Every command has ` + "`--help`" + `, and every program ` + "`version`" + `.
- ` + "`polex completion bash`" + ` prints a completion script for bash; zsh, fish and powershell work the same way.
- The README lists the [exit codes](../../README.md#exit-codes).
`

// TestReference holds docs/reference/commands.md against the definitions of the commands.
func TestReference(t *testing.T) {
	var described []*cobra.Command
	for _, name := range []string{"request", "adopt", "validate", "sign", "verify", "guard", "prune", "audit", "trust", "sandbox"} {
		described = append(described, programs["polex-"+name](cli.Streams{}))
	}
	common := commonRows(described)
	var page strings.Builder
	page.WriteString(pageIntro + "\n## Common flags\n\nThese flags mean the same in several commands. Each command names those that it has.\n\n" + table(common))
	for _, program := range described {
		describe(&page, program, common, "##", regexp.MustCompile(`^polex[- ]\w+`).FindString(program.Use))
	}
	for _, command := range polex.Named("polex")(cli.Streams{}).Commands() {
		if name := command.Name(); name != "promote" && name != "notify" && !regexp.MustCompile("(?m)^## polex[- ]"+name+"$").MatchString(page.String()) {
			t.Errorf("polex %s is not on the page", name)
		}
	}
	path := filepath.Join(root, "docs", "reference", "commands.md")
	if *update {
		if err := os.WriteFile(path, []byte(page.String()), 0o644); err != nil { //nolint:gosec // it goes to Git
			t.Fatal(err)
		}
	}
	got := must.Get(os.ReadFile(path))(t)
	expect.Equal(t, "docs/reference/commands.md is out of date; make generate", page.String(), string(got))
}

// commonRows returns the rows of flags that several commands have. Of the rows for one name, only the
// most frequent one is common.
func commonRows(programs []*cobra.Command) (common []string) {
	commands := map[string]map[string]int{}
	var count func(*cobra.Command)
	count = func(cmd *cobra.Command) {
		for _, row := range rows(cmd) {
			if commands[flagOf(row)] == nil {
				commands[flagOf(row)] = map[string]int{}
			}
			commands[flagOf(row)][row]++
		}
		for _, below := range cmd.Commands() {
			count(below)
		}
	}
	for _, program := range programs {
		count(program)
	}
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		of := commands[name]
		most := slices.MaxFunc(slices.Sorted(maps.Keys(of)), func(a, b string) int { return of[a] - of[b] })
		if of[most] > 1 {
			common = append(common, most)
		}
	}
	return common
}

func flagOf(row string) string { return regexp.MustCompile("--[a-z-]+").FindString(row) }

// rows returns the rows of the flags of a command.
func rows(cmd *cobra.Command) (all []string) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && f.Name != "version" {
			all = append(all, row(f))
		}
	})
	return all
}

func table(rows []string) string {
	if len(rows) == 0 {
		return ""
	}
	return "| flag | description |\n| --- | --- |\n" + strings.Join(rows, "\n") + "\n"
}

// describe writes the section of a command, and those of the commands below it.
func describe(b *strings.Builder, cmd *cobra.Command, common []string, heading, name string) {
	usage := cmd.Use
	if cmd.HasParent() {
		usage = strings.TrimSuffix(name, cmd.Name()) + usage
	}
	fmt.Fprintf(b, "\n%s %s\n\n```text\n%s\n```\n\n%s\n", heading, name, usage, prose(cmd.Long))
	var own, others []string
	for _, row := range rows(cmd) {
		if slices.Contains(common, row) {
			others = append(others, flagOf(row))
		} else {
			own = append(own, row)
		}
	}
	if len(own) > 0 {
		b.WriteString("\n" + table(own))
	}
	if len(others) > 0 {
		fmt.Fprintf(b, "\n[Common flags](#common-flags): `%s`\n", strings.Join(others, "`, `"))
	}
	for _, below := range cmd.Commands() {
		describe(b, below, common, heading+"#", name+" "+below.Name())
	}
}

func row(f *pflag.Flag) string {
	value, usage := pflag.UnquoteUsage(f)
	given := strings.TrimSpace("--" + f.Name + " " + value)
	if f.Shorthand != "" {
		given = "-" + f.Shorthand + ", " + given
	}
	if zero := f.DefValue == "" || f.DefValue == "0" || f.DefValue == "false" || f.DefValue == "[]" || f.DefValue == "0s"; !zero {
		usage += " (default: " + f.DefValue + ")"
	}
	return fmt.Sprintf("| `%s` | %s |", given, marked(strings.ReplaceAll(usage, "|", `\|`)))
}

// prose makes the text of a help Markdown: indented lines become code blocks, and flags become code.
func prose(help string) string {
	paragraphs := strings.Split(help, "\n\n")
	for i, p := range paragraphs {
		if strings.HasPrefix(p, "  ") {
			paragraphs[i] = "```text\n" + regexp.MustCompile(`(?m)^  `).ReplaceAllString(p, "") + "\n```"
		} else {
			paragraphs[i] = marked(p)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

var (
	markup = strings.NewReplacer("*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;")
	asCode = regexp.MustCompile(`(^|[\s(])(--?[a-z][a-z-]*|[\w./-]*(?:polex\.dev|\.ya?ml|\.json|/)[\w./@-]*)`)
)

// marked escapes the markup in a text, and shows flags, keys and paths in it as code.
func marked(text string) string {
	var b strings.Builder
	for {
		at := asCode.FindStringSubmatchIndex(text)
		if at == nil {
			return b.String() + markup.Replace(text)
		}
		word := strings.TrimRight(text[at[4]:at[5]], ".")
		b.WriteString(markup.Replace(text[:at[4]]) + "`" + word + "`")
		text = text[at[4]+len(word):]
	}
}
