package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/polex-dev/polex/pkg/exception"
)

// setHelp writes help without a template: with text/template, the linker keeps every method.
func setHelp(root *cobra.Command) {
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { writeHelp(cmd.OutOrStdout(), cmd) })
}

func writeHelp(w io.Writer, cmd *cobra.Command) {
	fmt.Fprintf(w, "%s\n\nUsage: %s\n", strings.TrimSpace(cmd.Long),
		strings.ReplaceAll(cmd.UseLine(), " | ", "\n       "))
	if cmd.Example != "" {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	if commands := slices.DeleteFunc(slices.Clone(cmd.Commands()),
		func(c *cobra.Command) bool { return slices.Contains(standard, c.Name()) }); len(commands) > 0 {
		fmt.Fprint(w, "\nCommands (and completion, version):\n")
		for _, c := range commands {
			fmt.Fprintf(w, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
		}
	}
	shown := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	cmd.InheritedFlags() // cobra adds them to cmd.Flags
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && f.Name != "version" {
			shown.AddFlag(f)
		}
	})
	if shown.HasFlags() {
		fmt.Fprintf(w, "\nFlags:\n%s", shown.FlagUsages())
	}
}

// didYouMean returns a hint that names the flag closest to a misspelt one, or the subcommand that has the flag.
func didYouMean(cmd *cobra.Command, err error) string {
	help := fmt.Sprintf("run %s --help", cmd.CommandPath())
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return help
	}
	name := unknown.GetSpecifiedName()
	var names, below []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	for _, sub := range cmd.Commands() {
		if sub.Flags().Lookup(name) != nil {
			below = append(below, fmt.Sprintf("%s --%s", sub.CommandPath(), name))
		}
	}
	if len(below) > 0 {
		return "did you mean " + strings.Join(below, " or ") + "?"
	}
	return cmp.Or(instead[name], exception.Nearest("--"+name, names), help)
}

// Misspelt returns a usage error if the first path is not on disk and is like a subcommand: a
// misspelt subcommand would otherwise be reported as a missing file. It returns nil for any other
// path.
func Misspelt(cmd *cobra.Command, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	if _, err := os.Lstat(paths[0]); err == nil || len(similar(cmd, paths[0])) == 0 {
		return nil
	}
	return UnknownCommand(cmd, paths)
}

func similar(cmd *cobra.Command, name string) []string {
	cmd.SuggestionsMinimumDistance = 2
	return cmd.SuggestionsFor(name)
}

// UnknownCommand returns the usage error of a command that has subcommands, or nil without
// arguments.
func UnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := fmt.Sprintf("%s --help lists the commands", cmd.CommandPath())
	if like := similar(cmd, args[0]); len(like) > 0 {
		hint = fmt.Sprintf("did you mean %s %s?", cmd.CommandPath(), strings.Join(like, " or "))
	}
	return UsageHint(hint, "unknown command %q for %q", args[0], cmd.CommandPath())
}

// OnlySubcommands makes a command that does nothing itself. hint is for a run without a subcommand.
func OnlySubcommands(cmd *cobra.Command, hint string) {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := UnknownCommand(cmd, args); err != nil {
			return err
		}
		return UsageHint(hint, "no command given")
	}
}

// AtLeastOnePath is the argument check of a command that reads documents.
func AtLeastOnePath(cmd *cobra.Command, args []string) error {
	if len(args) == 0 && cmd.Flags().NFlag() == 0 {
		usage := strings.ReplaceAll(cmd.UseLine(), " | ", "\n       ")
		fmt.Fprintf(cmd.ErrOrStderr(), "%s\n\nUsage: %s\n\nExamples:\n%s\n\n%s --help describes the flags.\n",
			cmd.Short, usage, cmd.Example, cmd.CommandPath())
		return StatusError(Usage)
	}
	if len(args) == 0 {
		return &UsageError{Err: errors.New("no path is given"),
			Hint: fmt.Sprintf("name files or folders, or - for standard input; see %s --help", cmd.CommandPath())}
	}
	return nil
}

// NoPath is the argument check of a command that accepts no paths.
func NoPath(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		if err := Misspelt(cmd, args); err != nil {
			return err
		}
		return UsageHint(cmd.CommandPath()+" --help says what it reads",
			"%s accepts no path: %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// Version is the release of the binary. The linker sets it.
var Version = ""

// VersionText returns the release, the module version of a binary from go install, or "devel".
func VersionText() string {
	if Version != "" {
		return Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// setVersion gives a program the flag --version and the command version. Cobra's own flag
// prints by a template, and with text/template the linker keeps every method: 2.6 MB.
func setVersion(root *cobra.Command, w io.Writer) {
	root.Flags().VarPF(versionFlag{}, "version", "v", "print the version").NoOptDefVal = "true"
	if root.Args == nil {
		root.Args = cobra.ArbitraryArgs // with a subcommand, cobra would reject paths
	}
	root.AddCommand(&cobra.Command{
		Use: "version", Short: "Print the version", Long: "Print the version.", Args: NoPath,
		RunE: func(*cobra.Command, []string) error { writeVersion(w, root); return nil },
	})
}

func writeVersion(w io.Writer, root *cobra.Command) {
	_, _ = fmt.Fprintf(w, "%s %s\n", root.Name(), VersionText())
}

var errVersion = errors.New("--version")

// versionFlag ends the reading of the flags with errVersion.
type versionFlag struct{}

// String returns the default that help shows.
func (versionFlag) String() string { return "false" }

// Type makes the flag a switch without a value in help texts.
func (versionFlag) Type() string { return "bool" }

// Set ends the reading of the flags.
func (versionFlag) Set(string) error { return errVersion }
