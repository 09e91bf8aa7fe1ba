// Package guard is the command polex-guard: the admission webhook, and a check of its installation.
package guard

import (
	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
)

const help = `Guard a cluster: reject PolicyExceptions that are unsigned, modified or expired, and
delete exceptions at their expiry.`

// New makes the command.
func New(streams cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "polex-guard COMMAND",
		Short:                 "Reject exceptions in a cluster that are unsigned, modified or expired",
		Long:                  help,
		Args:                  cli.UnknownCommand,
		DisableFlagsInUseLine: true,
		RunE: func(*cobra.Command, []string) error {
			const hint = "run polex-guard serve --help or polex-guard check --help"
			return &cli.UsageError{Err: errNoSubcommand, Hint: hint}
		},
	}
	cli.Serves(cmd)
	cmd.AddCommand(newServeCommand(streams), newCheckCommand(streams))
	return cmd
}
