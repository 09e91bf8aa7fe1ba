package sandbox

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/sandbox"
)

// banner warns every user of the sandbox.
const banner = `polex-sandbox: THIS IS A SANDBOX. Every process on this machine can get any identity from it,
polex-sandbox: so its signatures prove nothing. Never add its trusted root to a real trust policy.
`

// identityFlags adds flags for the parts of the identity that a test usually changes.
func identityFlags(flags *pflag.FlagSet, id *sandbox.Identity) {
	flags.StringVar(&id.Repository, "repository", "", "`owner/name` of the repository (default: acme/exceptions)")
	flags.StringVar(&id.WorkflowFile, "workflow", "", "path of the workflow file (default: .github/workflows/sign.yaml)")
	flags.StringVar(&id.Ref, "ref", "", "full Git ref of the workflow run (default: refs/heads/main)")
	flags.StringVar(&id.SHA, "sha", "", "`commit` of the workflow run")
	flags.StringVar(&id.EventName, "event", "", "event of the workflow run (default: push)")
	flags.StringVar(&id.RunnerEnvironment, "runner-environment", "", "github-hosted or self-hosted (default: github-hosted)")
	flags.StringVar(&id.Environment, "environment", "", "deployment environment of the job (default: none)")
	flags.BoolVar(&id.ImmutableSubject, "immutable-subject", false, "write the numbers of owner and repository into the sub claim")
	flags.DurationVar(&id.TokenLifetime, "token-lifetime", 0, "lifetime of a token; negative: expired already (default: 10m)")
}

func checkIdentity(id sandbox.Identity) error {
	if err := id.Validate(); err != nil {
		return usage("for example --repository acme/exceptions --ref refs/heads/main", "%w", err)
	}
	return nil
}

// startOptions are the flags of both run and serve.
type startOptions struct {
	dir      string
	identity sandbox.Identity
	rekor    []int
	log      bool
}

func (o *startOptions) register(flags *pflag.FlagSet) {
	identityFlags(flags, &o.identity)
	flags.IntSliceVar(&o.rekor, "rekor-versions", []int{1, 2}, "versions of Rekor to run")
	flags.BoolVar(&o.log, "log", false, "write a line to stderr for every request")
}

// start starts the sandbox and prints the warning and the identity.
func (o *startOptions) start(ctx context.Context, streams cli.Streams) (*sandbox.Sandbox, error) {
	if err := checkIdentity(o.identity); err != nil {
		return nil, err
	}
	for _, version := range o.rekor {
		if version != 1 && version != 2 {
			return nil, usage("--rekor-versions 1, --rekor-versions 2 or --rekor-versions 1,2", "version %d of Rekor is not 1 or 2", version)
		}
	}
	options := sandbox.Options{Dir: o.dir, Identity: o.identity, RekorVersions: o.rekor}
	if o.log {
		options.Log = streams.Err
	}
	s, err := sandbox.Start(ctx, options)
	if err != nil {
		return nil, cli.Hint(fmt.Errorf("start the sandbox: %w", err), "it needs a folder it can write to and free ports on 127.0.0.1")
	}
	fmt.Fprint(streams.Err, banner)
	fmt.Fprintf(streams.Err, "polex-sandbox: signing as %s\n", o.identity.Subject())
	return s, nil
}

// temporaryFolder makes a folder for a run without --dir. The second result removes it.
func temporaryFolder() (string, func(), error) {
	dir, err := os.MkdirTemp("", "polex-sandbox-")
	if err != nil {
		return "", nil, cli.Hint(fmt.Errorf("make a folder: %w", err), "name one with --dir")
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil // the system removes the rest
}
