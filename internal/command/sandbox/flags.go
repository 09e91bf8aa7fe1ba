package sandbox

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/sandbox"
)

// banner warns every user of the sandbox.
const banner = `polex-sandbox: THIS IS A SANDBOX. Every process on this machine can get any identity from it,
polex-sandbox: so its signatures prove nothing. Never add its trusted root to a real trust policy.
`

// claims is the flag of the identity.
type claims string

func (c *claims) register(flags *pflag.FlagSet) {
	flags.StringVar((*string)(c), "claims",
		"", "`file` of claims of the identity, in YAML, or - (default: the push of acme/exceptions to main)")
}

// identity reads the claims, and the audience of a token.
func (c claims) identity(streams cli.Streams) (id sandbox.Identity, audience string, err error) {
	const maxClaims = 64 << 10 // the maximum size of a file of claims, in bytes
	if c == "" {
		return id, "", nil
	}
	raw, err := cli.ReadInput(string(c), streams.In, maxClaims)
	if err != nil {
		return id, "", &cli.UsageError{Err: fmt.Errorf("--claims: %w", err)}
	}
	if id, audience, err = sandbox.ReadIdentity(raw); err != nil {
		return id, "", usage("polex-sandbox token --help lists the claims", "--claims %s: %w", string(c), err)
	}
	return id, audience, nil
}

// startOptions are the flags of both run and serve.
type startOptions struct {
	dir    string
	claims claims
	log    bool
}

func (o *startOptions) register(flags *pflag.FlagSet) {
	o.claims.register(flags)
	flags.BoolVar(&o.log, "log", false, "write a line to stderr for every request")
}

// start starts the sandbox and prints the warning and the identity.
func (o *startOptions) start(ctx context.Context, streams cli.Streams) (*sandbox.Sandbox, error) {
	identity, _, err := o.claims.identity(streams)
	if err != nil {
		return nil, err
	}
	options := sandbox.Options{Dir: o.dir, Identity: identity}
	if o.log {
		options.Log = streams.Err
	}
	s, err := sandbox.Start(ctx, options)
	if err != nil {
		return nil, cli.Hint(fmt.Errorf("start the sandbox: %w", err),
			"it needs a folder it can write to and free ports on 127.0.0.1")
	}
	fmt.Fprint(streams.Err, banner)
	fmt.Fprintf(streams.Err, "polex-sandbox: signing as %s\n", identity.Subject())
	return s, nil
}
