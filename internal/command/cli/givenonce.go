package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// repeats is a flag's value that may be given several times, beside pflag's lists.
type repeats interface{ Repeats() }

// MayBeEmpty says that an empty value of flags means something that the help names.
func MayBeEmpty(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		_ = flags.SetAnnotation(name, mayBeEmpty, nil)
	}
}

const mayBeEmpty = "polex_may_be_empty"

// CheckGiven refuses what a command line says and cannot mean: a flag with an empty
// value, which is an unset variable of a script and would be taken for a flag that is
// not given, and a flag of one value that is given twice, of which the last would count
// without a word. Whatever else is wrong is for cobra to say.
func CheckGiven(root *cobra.Command, args []string) error {
	if len(args) > 0 && slices.Contains([]string{cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}, args[0]) {
		return nil // a shell asks what could come next
	}
	cmd, rest, err := root.Find(args)
	if err != nil || cmd.DisableFlagParsing {
		return nil //nolint:nilerr // cobra says so
	}
	var wrong *UsageError
	met := map[string]string{}
	cmd.InheritedFlags() // adds those of the commands above
	_ = cmd.Flags().ParseAll(rest, func(f *pflag.Flag, value string) error {
		before, again := met[f.Name]
		met[f.Name] = value
		_, list := f.Value.(pflag.SliceValue)
		_, several := f.Value.(repeats)
		_, empty := f.Annotations[mayBeEmpty]
		switch {
		case value == "" && !empty && (list || f.Value.Type() == "string"):
			wrong = &UsageError{Err: fmt.Errorf("--%s is empty", f.Name), Hint: "is a variable not set? Leave the flag out to have its default"}
		case again && !list && !several && (f.Value.Type() != "bool" || value != before):
			wrong = &UsageError{Err: fmt.Errorf("--%s is given twice, as %q and as %q, and takes one value", f.Name, before, value), Hint: fmt.Sprintf("give it once; %s --help says more", cmd.CommandPath())}
		default:
			return nil
		}
		return wrong
	})
	if wrong == nil {
		return nil
	}
	return wrong
}
