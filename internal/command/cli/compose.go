package cli

import (
	"regexp"
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
	for _, p := range parts {
		p.Command.Use = strings.TrimPrefix(asCalled(root, p.Command.Use), root.CommandPath()+" ")
		rename(root, p.Command)
		root.AddCommand(p.Command)
	}
}

// rename changes the names in all texts of a part and of its subcommands.
func rename(root, cmd *cobra.Command) {
	for _, text := range []*string{&cmd.Short, &cmd.Long, &cmd.Example} {
		*text = asCalled(root, *text)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = asCalled(root, f.Usage) })
	for _, below := range cmd.Commands() {
		rename(root, below)
	}
}

// beside matches text after a name that makes it another name, as in polex-guard.polex-system.svc
// or deploy/polex-guard.
var beside = regexp.MustCompile(`^(?:[\w/-]|\.\w)`)

// asCalled replaces the names of programs in a text by their names in the composed command.
func asCalled(root *cobra.Command, text string) string {
	called := strings.Split(root.Annotations[composed], "\n")
	var b strings.Builder
	for i := 0; i < len(text); {
		next := 1
		for n := 0; n+1 < len(called); n += 2 {
			rest, found := strings.CutPrefix(text[i:], called[n])
			if found && !beside.MatchString(rest) && (i == 0 || !strings.ContainsAny(text[i-1:i], "/.-")) {
				b.WriteString(called[n+1])
				next = len(called[n])
				break
			}
		}
		if next == 1 {
			b.WriteByte(text[i])
		}
		i += next
	}
	return b.String()
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
