package cli

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Part is a command that is also a program of its own.
type Part struct {
	Alone   string // name of that program, such as "polex-sign promote"
	Command *cobra.Command
}

// composed is the annotation of a command from [Compose]. It has two lines for each part: its name
// as a program, and its name in the composed command.
const composed = "polex_composed"

// Compose adds parts to a command and changes the names in their help texts. The name of a part is
// the last word of Alone without dashes: "promote" for "polex-sign promote".
func Compose(root *cobra.Command, parts []Part) {
	called := make([]string, 0, 2*len(parts))
	for _, p := range parts {
		words := strings.FieldsFunc(p.Alone, func(r rune) bool { return r == ' ' || r == '-' })
		called = append(called, p.Alone, root.CommandPath()+" "+words[len(words)-1])
	}
	annotate(root, composed, strings.Join(called, "\n"))
	rename := asCalled(root)
	for _, p := range parts {
		p.Command.Use = strings.TrimPrefix(rename(p.Command.Use), root.CommandPath()+" ")
		renameTexts(p.Command, rename)
		root.AddCommand(p.Command)
	}
}

// renameTexts changes the names in all texts of a part and of its subcommands.
func renameTexts(cmd *cobra.Command, rename func(string) string) {
	for _, text := range []*string{&cmd.Short, &cmd.Long, &cmd.Example} {
		*text = rename(*text)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = rename(f.Usage) })
	for _, below := range cmd.Commands() {
		renameTexts(below, rename)
	}
}

// asCalled returns a function that replaces the names of programs in a text by their names in the composed command.
// A name is not part of another one, as in polex-guard.polex-system.svc or deploy/polex-guard.
func asCalled(root *cobra.Command) func(text string) string {
	if root.Annotations[composed] == "" {
		return func(text string) string { return text }
	}
	var names []string
	called := map[string]string{}
	for pair := range slices.Chunk(strings.Split(root.Annotations[composed], "\n"), 2) {
		names, called[pair[0]] = append(names, regexp.QuoteMeta(pair[0])), pair[1]
	}
	found := regexp.MustCompile(`[/.-]?(?:` + strings.Join(names, "|") + `)(?:[\w/-]|\.\w)?`)
	return func(text string) string {
		return found.ReplaceAllStringFunc(text, func(name string) string { return cmp.Or(called[name], name) })
	}
}

// nameOf returns the name of the command in the arguments, for error messages.
func nameOf(root *cobra.Command, args []string) string {
	if root.Annotations[composed] == "" {
		return root.Name()
	}
	cmd, _, err := root.Find(args)
	if err != nil {
		return root.CommandPath()
	}
	for cmd.HasParent() && cmd.Parent() != root {
		cmd = cmd.Parent()
	}
	return cmd.CommandPath()
}
