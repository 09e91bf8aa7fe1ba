// Package sign is the command polex-sign. It signs files, or promotes the pending exceptions of a
// repository.
package sign

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/shapeconfig"
	"github.com/polex-dev/polex/internal/command/trustflags"
	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/internal/retry"
	"github.com/polex-dev/polex/internal/review"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

const help = `Sign exceptions with an identity from Sigstore (keyless), or with a key.

PATH is a file, a folder or - for standard input. The signed documents go to standard
output or --output-file. Comments and the order of keys stay.

The identity comes from --identity-token, from GitHub Actions (id-token: write), or from
a browser. The public Sigstore publishes it (docs/explanation/workflow.md#privacy);
polex-sign asks first on a terminal.

Exit codes: 0 signed, 1 rejected, 2 invalid command line or configuration, 3 could not sign.`

const example = `  # one file, by hand
  polex-sign unsigned/mongo.yaml --output-file signed/mongo.yaml
` + promoteExample

const promoteHelp = `Sign the pending exceptions (unsigned/) and move them to signed/.

promote reads the commit that HEAD or --ref names. An exception must also be pending on
the target branch, which promote fetches first. It promotes every file or none;
with --keep-going, it leaves out the invalid files and exits with 1. The next run completes
an interrupted one.

Without --commit, --push, --pull-request or --signed-output, it prints the plan and changes nothing.

Exit codes: 0 promoted or nothing pending, 1 rejected, 2 invalid command line or
configuration, 3 Sigstore, a file or the repository failed.`

const promoteExample = `  # the plan
  polex-sign promote
  # in a workflow, after a merge
  polex-sign promote --push --ref "$GITHUB_SHA"`

type options struct {
	config string
	output string
	bundle string

	promote bool // the command promote
	promoteOptions

	key           string
	identityToken string
	fulcioURL     string
	sigstore      sign.Config // the signing services
	oidcIssuer    string
	oidcClientID  string
	device        bool
	yes           bool

	ttlLabel bool
}

// New makes the command.
func New(streams cli.Streams) *cobra.Command {
	o := &options{}
	cmd := newCommand(streams, o)
	cmd.Use, cmd.Short = "polex-sign [flags] PATH...", "Sign exceptions with your own identity"
	cmd.Long, cmd.Example = help, example
	flags := cmd.Flags()
	flags.StringVar(&o.output, "output-file", "", "write the signed documents to a `file` (default: standard output)")
	flags.StringVar(&o.bundle, "bundle", "",
		"write the Sigstore bundle (v0.3) of one document to a `file`, for cosign verify-blob")
	cli.Writes(flags, "output-file", "bundle")
	cmd.Args = cli.Misspelt
	cmd.AddCommand(Promote(streams), newTrustedRoot(streams))
	return cmd
}

// Promote makes the command polex-sign promote.
func Promote(streams cli.Streams) *cobra.Command {
	o := &options{promote: true}
	cmd := newCommand(streams, o)
	cmd.Use, cmd.Short = "promote [flags]", "Sign the pending exceptions and move them to signed/"
	cmd.Long, cmd.Example, cmd.Args = promoteHelp, promoteExample, cli.NoPath
	o.addPromote(cmd, streams.Timing)
	return cmd
}

// newCommand makes the common part of signing files and promotion.
func newCommand(streams cli.Streams, o *options) *cobra.Command {
	cmd := &cobra.Command{DisableFlagsInUseLine: true, Args: cobra.ArbitraryArgs} // arguments are paths, not commands
	format := cli.AddFormatFlag(cmd)
	flags := cmd.Flags()
	cli.AddConfigFlag(flags, &o.config)
	flags.StringVar(&o.key, "key", "", "sign with the encrypted private key of cosign in a `file`, or with "+
		"plugin://key of a KMS")
	flags.StringVar(&o.identityToken, "identity-token", "", "identity token, or the file that holds it")
	flags.StringVar(&o.fulcioURL, "fulcio-url", "", "`url` of Fulcio (default: the public-good Sigstore)")
	flags.StringVar(&o.sigstore.RekorURL, "rekor-url", "", "`url` of Rekor (default: the public-good Sigstore)")
	flags.IntVar(&o.sigstore.RekorVersion, "rekor-version", 0,
		"Rekor's version, 1 or 2; 2 requires --rekor-url and --timestamp-server-url (default: 1)")
	flags.StringVar(&o.sigstore.TimestampURL, "timestamp-server-url", "", "`url` of a timestamp authority (RFC 3161)")
	flags.StringVar((*string)(&o.sigstore.BundleFormat), "bundle-format", "",
		"format of the signature: cosign (for Kyverno up to 1.19), sigstore or both; sigstore with --rekor-version 2 "+
			"(default: both)")
	flags.StringVar(&o.oidcIssuer, "oidc-issuer",
		"", "`url` of the OIDC issuer to sign in at (default: the public-good Sigstore)")
	flags.StringVar(&o.oidcClientID, "oidc-client-id", "", "client ID for identity tokens (default: sigstore)")
	flags.BoolVar(&o.device, "device-flow", false, "sign in with a code on another device")
	flags.BoolVarP(&o.yes, "yes", "y", false, "publish in the logs of the public Sigstore without asking")
	for flag, values := range map[string][]string{"rekor-version": {"1", "2"},
		"bundle-format": {string(sign.BundleBoth), string(sign.BundleCosign), string(sign.BundleSigstore)}} {
		cli.Check(flags, flag, cli.OneOf(values...))
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	var trusted *trustflags.Flags // promote has none: its trust policy is that of the configuration
	if !o.promote {
		trusted = trustflags.Add(cmd)
	}
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		if len(paths) == 0 && !o.promote && cmd.Flags().NFlag() == 0 {
			return cli.AtLeastOnePath(cmd, paths)
		}
		if err := o.check(paths); err != nil {
			return err
		}
		run, err := o.prepare(cmd, trusted)
		if err != nil {
			return err
		}
		run.streams, run.format, run.now = streams, format, streams.Now()
		if o.promote {
			return run.promote(cmd.Context())
		}
		return run.files(cmd.Context(), paths)
	}
	return cmd
}

// prepare reads the configuration, the rules and the trust policy.
func (o *options) prepare(cmd *cobra.Command, trusted *trustflags.Flags) (*run, error) {
	cfg, err := o.load()
	if err != nil {
		return nil, err
	}
	shapes, err := shapeconfig.Config(cfg, cmd.Flags())
	if err != nil {
		return nil, err
	}
	if shapes.Rules.Renewals.Review() && !o.promote { // nothing records the review of plain files
		shapeconfig.WeighClaims(cfg.Promote, &shapes)
	}
	shapeconfig.LeaveClaims(&shapes)
	r := &run{options: o, config: cfg, report: &cli.Report{Tool: "polex-sign", Done: "signed",
		Reasons: slices.Concat(promotion.Reasons(), review.Reasons(), verify.Reasons(), sign.Reasons(),
			shapeconfig.Reasons(shapes), ownReasons())}}
	shapes.Policies = cli.Policies(cfg.PolicyPaths(nil), r.report)
	if r.checks.Shape, err = shapeconfig.Checker(shapes); err != nil {
		return nil, err
	}
	r.checks.Overlaps = shapes.Checks[shape.ReasonOverlaps] == shape.LevelError
	return r, r.trust(trusted)
}

// trust reads the trust policy: the allowed kinds, and the trusted signers.
func (r *run) trust(flags *trustflags.Flags) error {
	c, err := flags.Config(r.config)
	if err != nil {
		return err
	}
	terms, err := c.Terms()
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	r.checks.Rules = sign.Rules{InsecureAllowUnbounded: c.InsecureAllowUnbounded,
		TTLLabel: r.options.ttlLabel, Terms: terms}
	r.kinds = c.Kinds
	if r.checks.Kinds, err = trust.NewKinds(c.Kinds); err == nil {
		r.root, err = trust.LoadRoot(c.TrustedRoot)
	}
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	if len(c.Authorities) == 0 && r.options.signedInput == "" {
		return nil // then signed documents only have to verify with the signer's own identity
	}
	if r.policy, err = flags.Policy(r.config); err == nil {
		r.verifier, err = verify.New(r.policy)
	}
	return err
}

// check rejects flags that contradict each other, before any other work.
func (o *options) check(paths []string) error {
	switch {
	case !o.promote && len(paths) == 0:
		return &cli.UsageError{Err: errors.New("no path given"),
			Hint: "name files or folders, or - for standard input; polex-sign promote signs the pending exceptions"}
	case o.key != "" && (o.identityToken != "" || o.fulcioURL != "" || o.device):
		return cli.Usagef("--key cannot be combined with --identity-token, --fulcio-url and --device-flow: sign with " +
			"a key or with an identity")
	case o.promote:
		return o.checkPromote()
	}
	return nil
}

func (o *options) load() (*config.Config, error) {
	cfg, err := cli.LoadRepositoryConfig(o.config)
	if err != nil {
		return nil, err
	}
	s, d := cfg.Sigstore, cfg.Directories
	o.pending.Unsigned, o.pending.Signed = d.Unsigned, d.Signed
	o.ttlLabel, o.pending.Replace = cfg.Lifetime.TTLLabel, cfg.Promote.Updates == "replace"
	for _, setting := range []struct {
		flag *string
		file string
	}{
		{&o.fulcioURL, s.FulcioURL}, {&o.sigstore.RekorURL, s.RekorURL},
		{&o.sigstore.TimestampURL, s.TimestampURL}, {(*string)(&o.sigstore.BundleFormat), s.BundleFormat},
	} {
		if *setting.flag == "" {
			*setting.flag = setting.file
		}
	}
	o.sigstore.RekorVersion = cmp.Or(o.sigstore.RekorVersion, s.RekorVersion)
	if err := o.checkSigstore(); err != nil {
		return nil, err
	}
	for _, of := range []struct{ flag, address, host string }{
		{"--fulcio-url", o.fulcioURL, "fulcio"}, {"--rekor-url", o.sigstore.RekorURL, "rekor"},
		{"--timestamp-server-url", o.sigstore.TimestampURL, "timestamp"}, {"--oidc-issuer", o.oidcIssuer, "accounts"},
	} {
		if of.address == "" {
			continue
		}
		if err := retry.CheckAddress(of.address); err != nil {
			return nil, &cli.UsageError{Err: fmt.Errorf("%s %q: %w", of.flag, of.address, err),
				Hint: "write it like https://" + of.host + ".example.com"}
		}
	}
	return cfg, nil
}

// checkSigstore rejects settings that contradict each other.
func (o *options) checkSigstore() error {
	s, cosign := o.sigstore, o.sigstore.BundleFormat == sign.BundleCosign
	if o.bundle != "" && cosign {
		return cli.Usagef("--bundle cannot be combined with --bundle-format cosign, which makes no Sigstore bundle")
	}
	err := s.Check()
	switch {
	case err == nil:
		return nil
	case s.RekorVersion == 2 && s.RekorURL == "":
		return &cli.UsageError{Err: err, Hint: "add --rekor-url; of the public-good Sigstore, " +
			"signing_config.v0.2.json in its TUF repository lists the current log"}
	case s.RekorVersion == 2 && s.TimestampURL == "":
		return &cli.UsageError{Err: err, Hint: "add --timestamp-server-url, with an authority of the trusted root"}
	case cosign:
		return &cli.UsageError{Err: err, Hint: "use --bundle-format sigstore or both"}
	}
	return &cli.UsageError{Err: err}
}
