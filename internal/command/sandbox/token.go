package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/sandbox"
)

// tokenOptions are the flags of token.
type tokenOptions struct {
	dir    string
	claims claims
}

func newToken(streams cli.Streams) *cobra.Command {
	var o tokenOptions
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
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("polex-sandbox token --help lists the claims", "token accepts no arguments")
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return printToken(c.Context(), o, streams) },
	}
	command.Flags().StringVar(&o.dir, "dir", "", "`folder` of the running sandbox (default: $POLEX_SANDBOX)")
	o.claims.register(command.Flags())
	return command
}

func printToken(ctx context.Context, o tokenOptions, streams cli.Streams) error {
	identity, audience, err := o.claims.identity(streams)
	if err != nil {
		return err
	}
	if o.dir, err = folder(o.dir); err != nil {
		return err
	}
	token, err := sandbox.RequestToken(ctx, o.dir, identity, cmp.Or(audience, "sigstore"))
	if err != nil {
		err = fmt.Errorf("request a token: %w", err)
		if errors.Is(err, sandbox.ErrNotRunning) {
			return cli.Hint(err, "start one with polex-sandbox serve --dir DIR")
		}
		return err
	}
	if _, err := fmt.Fprintln(streams.Out, token); err != nil {
		return fmt.Errorf("print the token: %w", err)
	}
	return nil
}
