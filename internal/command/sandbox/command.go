// Package sandbox is the command polex-sandbox. It runs a Sigstore for tests on loopback.
package sandbox

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
)

const help = `polex-sandbox runs an OpenID issuer that speaks for GitHub Actions, Fulcio with a
transparency log for its certificates, Rekor (versions 1 and 2) and a timestamp authority, all in one
process and on 127.0.0.1. What is sealed against it verifies with the trusted_root.json
and the polex.yaml that it writes, and with nothing else.

Nothing it issues is worth anything outside of it: it gives any identity to whoever asks.

Sign and verify, without an account or a network:

  polex-sandbox run -- sh -c '
    polex-sign --config "$POLEX_SANDBOX/polex.yaml" exception.yaml |
    polex-verify --config "$POLEX_SANDBOX/polex.yaml" -'

The same by your own .polex.yaml, of which the sandbox replaces the Sigstore alone:

  polex-sandbox run -- sh -c '
    polex-sandbox config >.polex-sandbox.yaml &&
    polex-sign --config .polex-sandbox.yaml exception.yaml'

Without --config, polex-sign signs by your .polex.yaml or, where there is none, with the public
Sigstore, even inside of a sandbox.

Exit status: 0 done, 2 usage, 3 could not start; run exits as its command does.`

// New makes the command.
func New(streams cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "polex-sandbox",
		Short: "A whole Sigstore on loopback, to try polex and to test with",
		Long:  help,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("polex-sandbox --help lists the commands", "unknown command %q", args[0])
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
	if dir == "" {
		dir = os.Getenv("POLEX_SANDBOX")
	}
	if dir == "" {
		return "", usage("run it inside of polex-sandbox run, or name the folder of polex-sandbox serve with --dir",
			"POLEX_SANDBOX is not set and --dir is not given")
	}
	return dir, nil
}
