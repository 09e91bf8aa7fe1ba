// Package guard is the command polex-guard: the admission webhook, and a check of its installation.
package guard

import (
	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
)

const help = `Guard a cluster: let no PolicyException in, and keep none, that was not signed
by somebody who is trusted, unchanged and unexpired.

serve answers the API server's admission reviews, and check says what is wrong
with how it is installed. Run one of them with --help.`

// New makes the command.
func New(streams cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "polex-guard serve | check",
		Short:                 "Guard a cluster against exceptions that were not signed",
		Long:                  help,
		Args:                  noArguments,
		DisableFlagsInUseLine: true,
		RunE: func(*cobra.Command, []string) error {
			return &cli.UsageError{Err: errNoSubcommand, Hint: "run polex-guard serve --help, or polex-guard check --help"}
		},
	}
	cli.Serves(cmd)
	cmd.AddCommand(newServeCommand(streams), newCheckCommand(streams))
	return cmd
}

// noArguments rejects arguments that are neither flags nor commands.
func noArguments(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return &cli.UsageError{Err: err, Hint: "run " + cmd.CommandPath() + " --help"}
	}
	return nil
}
