package cli

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Part is a command that is a program of its own, too.
type Part struct {
	Alone   string // how that program is called, such as "polex-sign promote"
	Command *cobra.Command
}

// composed is the annotation of a command that [Compose] has put together: how its
// parts are called alone, and how in it, line by line.
const composed = "polex_composed"

// Compose adds parts to a command. Their help names each of them as it is called there:
// the last word of "polex-sign promote" or "polex-sign" without dashes is its name.
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

// rename has the texts of a part, and of what lies below it, name parts as they are called.
func rename(root, cmd *cobra.Command) {
	for _, text := range []*string{&cmd.Short, &cmd.Long, &cmd.Example} {
		*text = asCalled(root, *text)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = asCalled(root, f.Usage) })
	for _, below := range cmd.Commands() {
		rename(root, below)
	}
}

// beside is what a name stands apart from: polex-guard.polex-system.svc and
// deploy/polex-guard name something else.
var beside = regexp.MustCompile(`^(?:[\w/-]|\.\w)`)

// asCalled returns a text that names parts of a composed command as they are called.
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

// nameOf is how the command that the arguments name was called: the program, or the
// part of a composed one.
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
