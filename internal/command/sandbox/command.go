// Package sandbox is the command polex-sandbox. It runs a Sigstore for tests on loopback.
package sandbox

import (
	"cmp"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
)

const help = `Run a Sigstore on 127.0.0.1 to try polex and to test: an OIDC issuer like that of GitHub
Actions, Fulcio with a CT log, Rekor 1 and 2, and a timestamp authority, in one process.

The sandbox gives any identity to everybody. Its signatures verify only with the
trusted_root.json and the polex.yaml that it writes.

Sign and verify, without an account or a network:

  polex-sandbox run -- sh -c '
    polex-sign --config "$POLEX_SANDBOX/polex.yaml" exception.yaml |
    polex-verify --config "$POLEX_SANDBOX/polex.yaml" -'

With your own .polex.yaml, and the sandbox instead of your Sigstore:

  polex-sandbox run -- sh -c '
    polex-sandbox config >.polex-sandbox.yaml &&
    polex-sign --config .polex-sandbox.yaml exception.yaml'

Inside polex-sandbox run, polex-sign never signs with the public Sigstore: without a configuration
for the sandbox, it exits with 2.

Exit codes: 0 done, 2 invalid command line, 3 could not start. run exits with the exit code of its command.`

// New makes the command.
func New(streams cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "polex-sandbox",
		Short: "Run a Sigstore on loopback, to try polex and to test",
		Long:  help,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownCommand(cmd, args)
			}
			return usage("to run a command against a sandbox: polex-sandbox run -- COMMAND", "no command given")
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	cli.HandlesSignals(cmd)
	cmd.AddCommand(newRun(streams), newServe(streams), newToken(streams), newConfig(streams))
	return cmd
}

func usage(hint, format string, args ...any) error {
	return &cli.UsageError{Err: fmt.Errorf(format, args...), Hint: hint}
}

// folder returns the folder of the running sandbox: the given one, or the one in POLEX_SANDBOX.
func folder(dir string) (string, error) {
	dir = cmp.Or(dir, os.Getenv("POLEX_SANDBOX"))
	if dir == "" {
		return "", usage("run it inside of polex-sandbox run, or name the folder of polex-sandbox serve with --dir",
			"POLEX_SANDBOX is not set and --dir is not given")
	}
	return dir, nil
}
