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
