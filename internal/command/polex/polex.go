// Package polex is the command polex, which contains the other commands.
//
//go:generate go test -run ^TestReference$ . -update
package polex

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/adopt"
	"github.com/polex-dev/polex/internal/command/audit"
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/guard"
	"github.com/polex-dev/polex/internal/command/prune"
	"github.com/polex-dev/polex/internal/command/request"
	"github.com/polex-dev/polex/internal/command/sandbox"
	"github.com/polex-dev/polex/internal/command/sign"
	"github.com/polex-dev/polex/internal/command/trust"
	"github.com/polex-dev/polex/internal/command/validate"
	"github.com/polex-dev/polex/internal/command/verify"
)

const help = `Sign reviewed Kyverno PolicyExceptions, verify them and guard a cluster.

Each command is also a program of its own: polex verify is polex-verify. As
kubectl-polex on the PATH, polex is the kubectl plugin kubectl polex.`

// plugin is the name of a program that kubectl runs as its command polex.
const plugin = "kubectl-polex"

// Named returns the constructor of the command for the program at a path.
func Named(path string) func(cli.Streams) *cobra.Command {
	return func(streams cli.Streams) *cobra.Command {
		cmd := &cobra.Command{
			Use:                   "polex COMMAND",
			DisableFlagsInUseLine: true,
			Short:                 "Sign, verify and guard Kyverno PolicyExceptions",
			Long:                  help,
			Args: func(cmd *cobra.Command, args []string) error {
				if len(args) > 0 {
					return cli.UnknownCommand(cmd, args)
				}
				return &cli.UsageError{Err: errors.New("no command given"),
					Hint: cmd.CommandPath() + " --help lists the commands"}
			},
			RunE: func(*cobra.Command, []string) error { return nil }, // Args has returned an error
		}
		if strings.TrimSuffix(filepath.Base(path), ".exe") == plugin {
			cmd.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl polex"}
		}
		cli.Compose(cmd, []cli.Part{
			{Alone: "polex adopt", Command: adopt.New(streams)},
			{Alone: "polex-request", Command: request.New(streams)},
			{Alone: "polex-validate", Command: validate.New(streams)},
			{Alone: "polex-sign promote", Command: sign.Promote(streams)},
			{Alone: "polex-sign", Command: sign.New(streams)},
			{Alone: "polex-verify", Command: verify.New(streams)},
			{Alone: "polex-prune", Command: prune.New(streams)},
			{Alone: "polex-audit notify", Command: audit.Notify(streams)},
			{Alone: "polex-audit", Command: audit.New(streams)},
			{Alone: "polex-guard", Command: guard.New(streams)},
			{Alone: "polex trust", Command: trust.New(streams)},
			{Alone: "polex-sandbox", Command: sandbox.New(streams)},
		})
		return cmd
	}
}
