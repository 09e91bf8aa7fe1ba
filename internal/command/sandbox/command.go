// Package sandbox is the command polex-sandbox. It runs a Sigstore for tests on loopback.
package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/sandbox"
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
	}
	cli.OnlySubcommands(cmd, "to run a command against a sandbox: polex-sandbox run -- COMMAND")
	cli.HandlesSignals(cmd)
	cmd.AddCommand(newRun(streams), newServe(streams), newToken(streams), newConfig(streams))
	return cmd
}

// options are the flags of the subcommands.
type options struct {
	dir, claims string
	log         bool
}

func (o *options) addClaims(flags *pflag.FlagSet) {
	flags.StringVar(&o.claims, "claims",
		"", "`file` of claims of the identity, in YAML, or - (default: the push of acme/exceptions to main)")
}

func (o *options) addRunning(flags *pflag.FlagSet) {
	flags.StringVar(&o.dir, "dir", "", "`folder` of the running sandbox (default: $POLEX_SANDBOX)")
}

// identity reads the claims, and the audience of a token.
func (o *options) identity(streams cli.Streams) (id sandbox.Identity, audience string, err error) {
	const maxClaims = 64 << 10 // the maximum size of a file of claims, in bytes
	if o.claims == "" {
		return id, "", nil
	}
	raw, err := cli.ReadInput(o.claims, streams.In, maxClaims)
	if err != nil {
		return id, "", cli.Usagef("--claims: %w", err)
	}
	if id, audience, err = sandbox.ReadIdentity(raw); err != nil {
		return id, "", cli.UsageHint("polex-sandbox token --help lists the claims", "--claims %s: %w", o.claims, err)
	}
	return id, audience, nil
}

// running returns the folder of the running sandbox: the one of --dir, or the one in POLEX_SANDBOX.
func (o *options) running() (string, error) {
	dir := cmp.Or(o.dir, os.Getenv("POLEX_SANDBOX"))
	if dir == "" {
		return "", cli.UsageHint(
			"run it inside of polex-sandbox run, or name the folder of polex-sandbox serve with --dir",
			"POLEX_SANDBOX is not set and --dir is not given")
	}
	return dir, nil
}

func newToken(streams cli.Streams) *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "token [flags]",
		Short: "Print a token for any identity from the running sandbox",
		Long: `Print a token of the running sandbox. Without claims, it has the identity that polex.yaml
trusts. This signature of another branch does not verify:

  echo 'ref: refs/heads/dev' >dev.yaml
  polex-sign --config "$POLEX_SANDBOX/polex.yaml" \
    --identity-token "$(polex-sandbox token --claims dev.yaml)" exception.yaml

The file has the claims of a token of GitHub Actions: aud, iss, repository, repository_id,
repository_owner_id, ref, sha, workflow_ref, job_workflow_ref, event_name, environment,
runner_environment, run_id. A claim that is missing has the value of the sandbox, or follows
from the others. immutable_subject: true writes the numbers of owner and repository into sub,
and lifetime: -5m makes a token that expired five minutes ago.

The sandbox is that of $POLEX_SANDBOX, which run sets, or of --dir.`,
		Args: cli.NoPath,
		RunE: func(c *cobra.Command, _ []string) error { return o.printToken(c.Context(), streams) },
	}
	o.addRunning(command.Flags())
	o.addClaims(command.Flags())
	return command
}

func (o *options) printToken(ctx context.Context, streams cli.Streams) error {
	identity, audience, err := o.identity(streams)
	if err != nil {
		return err
	}
	dir, err := o.running()
	if err != nil {
		return err
	}
	token, err := sandbox.RequestToken(ctx, dir, identity, cmp.Or(audience, "sigstore"))
	if err != nil {
		hint := ""
		if errors.Is(err, sandbox.ErrNotRunning) {
			hint = "start one with polex-sandbox serve --dir DIR"
		}
		return cli.Hint(fmt.Errorf("request a token: %w", err), hint)
	}
	_, err = fmt.Fprintln(streams.Out, token)
	return err
}
