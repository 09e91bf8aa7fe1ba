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
		Short: "Print a token for any identity, from the sandbox that is running",
		Long: `token asks the running sandbox for a token and prints it. Without flags it is one for the
identity that polex.yaml trusts; each flag changes one thing about it. So this shows that
another branch's signature is refused:

  polex-sign --config "$POLEX_SANDBOX/polex.yaml" \
    --identity-token "$(polex-sandbox token --ref refs/heads/dev)" exception.yaml

The sandbox is the one of $POLEX_SANDBOX, which run sets, or of --dir.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("polex-sandbox token --help lists the flags", "token takes no arguments")
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return printToken(c.Context(), o, streams) },
	}
	command.Flags().StringVar(&o.dir, "dir", "", "`folder` of the running sandbox (default $POLEX_SANDBOX)")
	command.Flags().StringVar(&o.audience, "audience", "sigstore", "`client` that the token is for")
	command.Flags().StringVar(&o.issuer, "issuer", "", "`URL` that the token names as its issuer (default the sandbox's; the same with /other is one that Fulcio knows and polex.yaml does not trust)")
	command.Flags().StringVar(&o.identity.JobWorkflowRef, "job-workflow-ref", "", "reusable workflow that holds the job, as `owner/name/path@ref`")
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
