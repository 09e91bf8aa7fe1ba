package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/sandbox"
)

// tokenOptions are the flags of token.
type tokenOptions struct {
	dir, audience, issuer string
	identity              sandbox.Identity
}

func newToken(streams cli.Streams) *cobra.Command {
	var o tokenOptions
	command := &cobra.Command{
		Use:   "token [flags]",
		Short: "Print a token for any identity from the running sandbox",
		Long: `Print a token of the running sandbox. Without flags, it has the identity that polex.yaml
trusts; each flag changes one claim. This signature of another branch does not verify:

  polex-sign --config "$POLEX_SANDBOX/polex.yaml" \
    --identity-token "$(polex-sandbox token --ref refs/heads/dev)" exception.yaml

The sandbox is that of $POLEX_SANDBOX, which run sets, or of --dir.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("polex-sandbox token --help lists the flags", "token accepts no arguments")
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return printToken(c.Context(), o, streams) },
	}
	command.Flags().StringVar(&o.dir, "dir", "", "`folder` of the running sandbox (default: $POLEX_SANDBOX)")
	command.Flags().StringVar(&o.audience, "audience", "sigstore", "audience of the token")
	command.Flags().StringVar(&o.issuer, "issuer", "", "issuer `url` of the token (default: that of the sandbox; with /other, as of an enterprise, polex.yaml does not trust it)")
	command.Flags().StringVar(&o.identity.JobWorkflowRef, "job-workflow-ref", "", "`owner/name/path@ref` of the reusable workflow of the job")
	identityFlags(command.Flags(), &o.identity)
	return command
}

func printToken(ctx context.Context, o tokenOptions, streams cli.Streams) error {
	o.identity.Issuer = o.issuer
	if err := checkIdentity(o.identity); err != nil {
		return err
	}
	var err error
	if o.dir, err = folder(o.dir); err != nil {
		return err
	}
	token, err := sandbox.RequestToken(ctx, o.dir, o.identity, o.audience)
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
