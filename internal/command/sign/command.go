// Package sign is the command polex-sign. It signs files, or promotes the pending exceptions of a
// repository.
package sign

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/shapeconfig"
	"github.com/polex-dev/polex/internal/command/trustflags"
	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/internal/promote"
	"github.com/polex-dev/polex/internal/review"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

const help = `Seal exceptions with your own identity: Sigstore's keyless signing, or a key.

PATH is a file, a folder or - for standard input. The sealed documents go to
standard output, or to --output; comments and the order of keys stay as they
were.

With --promote, e` + promoting + "\n\n" + identity + `

With --bundle, the evidence of one document is written beside it as well. The
bundle signs the message that the seal holds, for cosign verify-blob and
polex-verify --bundle.

` + statuses

// The parts of the help that both commands share.
const (
	promoting = `verything that waits under unsigned/ in the commit that HEAD or
--source names, and that still waits on the target branch, which is fetched first,
is sealed and moved to signed/, all of it or nothing. With --keep-going, files that
cannot be promoted stay where they are and are reported, and the others are
promoted; the exit status is 1 then. --commit commits that on HEAD; --push commits
it on what the remote has and pushes it without force, again when the remote has
moved; --pull-request-mode pushes it to a branch of its own; --dry-run shows what
would be done. A run that was cut off anywhere is finished or taken back by the next.

With --sealed-output, the sealed files go to a folder, for a second job to verify
and commit with --sealed-input: the job that signs need not write, and the job
that writes need not sign.`

	identity = `The identity comes from --identity-token, from the environment that the command
runs in (GitHub Actions with id-token: write), or, on a terminal, from signing
in with a browser. One certificate serves the whole batch. A duration in the
annotation polex.dev/expires-in becomes a time, counted from now. Everything is
verified before it is handed out, by the trust policy of the configuration where
it has one.

The public Sigstore, which signs by default, publishes who signs for ever: an e-mail
address, or the name of the repository and the workflow (docs/explanation/privacy.md). On a
terminal, polex-sign asks before that; --yes answers. A private Sigstore (--fulcio-url,
--rekor-url) publishes nothing.`

	statuses = `Exits 0 if everything was sealed (or the queue was empty), 1 if a document was
refused (with --keep-going, the others were sealed), 2 for a command line that
cannot be meant, and 3 if Sigstore, a file or the repository failed. Then nothing
was written, or the next run completes it.`
)

const example = `  # one file, by hand
  polex-sign unsigned/mongo.yaml --output signed/mongo.yaml

` + promoteExample

const promoteExample = `  # what a workflow runs after a merge
  polex-sign --promote --push --source "$GITHUB_SHA"`

type options struct {
	config string
	output string
	bundle string

	promote bool
	promoteOptions

	key           string
	identityToken string
	fulcioURL     string
	rekorURL      string
	rekorVersion  int
	timestampURL  string
	bundleFormat  string
	oidcIssuer    string
	oidcClientID  string
	device        bool
	concurrency   int
	yes           bool

	ttlLabel bool
}

// New makes the command.
func New(streams cli.Streams) *cobra.Command {
	o := &options{}
	cmd := newCommand(streams, o)
	cmd.Use, cmd.Short = "polex-sign [flags] PATH... | polex-sign --promote [flags] | polex-sign trusted-root [flags]", "Seal exceptions with your own identity"
	cmd.Long, cmd.Example = help, example
	flags := cmd.Flags()
	flags.StringVar(&o.output, "output", "", "`file` to write the sealed documents to (default: standard output)")
	flags.StringVar(&o.bundle, "bundle", "", "`file` to write the Sigstore bundle (v0.3) of the one document to, which signs the message in its seal")
	flags.BoolVar(&o.promote, "promote", false, "sign the pending exceptions of the repository and move them to the signed folder")
	cmd.AddCommand(newTrustedRoot(streams))
	return cmd
}

// Promote makes the command polex-sign --promote.
func Promote(streams cli.Streams) *cobra.Command {
	cmd := newCommand(streams, &options{promote: true})
	cmd.Use, cmd.Short = "polex-sign --promote [flags]", "Sign the pending exceptions and move them to the signed folder"
	cmd.Long, cmd.Example = "E"+promoting+"\n\n"+identity+"\n\n"+statuses, promoteExample
	return cmd
}

// newCommand makes the common part of signing files and promotion.
func newCommand(streams cli.Streams, o *options) *cobra.Command {
	cmd := &cobra.Command{DisableFlagsInUseLine: true, Args: cobra.ArbitraryArgs} // arguments are paths, not commands
	format := cli.AddFormatFlag(cmd)
	flags := cmd.Flags()
	cli.AddConfigFlag(flags, &o.config)
	o.addPromote(flags)
	flags.StringVar(&o.key, "key", "", "`file` with an encrypted private key, as cosign makes it, instead of a keyless identity")
	flags.StringVar(&o.identityToken, "identity-token", "", "identity `token` to sign with, or the file that holds it")
	flags.StringVar(&o.fulcioURL, "fulcio-url", "", "`address` of the certificate authority (default: the public-good one)")
	flags.StringVar(&o.rekorURL, "rekor-url", "", "`address` of the transparency log (default: the public-good one)")
	flags.IntVar(&o.rekorVersion, "rekor-version", 0, "`version` of the transparency log, 1 or 2; 2 takes --rekor-url and --timestamp-server-url (default: 1)")
	flags.StringVar(&o.timestampURL, "timestamp-server-url", "", "`address` of a timestamp authority that witnesses when it was signed (RFC 3161)")
	flags.StringVar(&o.bundleFormat, "bundle-format", "", "`form` of the evidence in the seal: cosign (read by Kyverno up to 1.19), sigstore (bundle v0.3) or both, "+
		"which is sigstore alone with --rekor-version 2 (default: both)")
	flags.StringVar(&o.oidcIssuer, "oidc-issuer", "", "`address` where a person signs in (default: the public-good one)")
	flags.StringVar(&o.oidcClientID, "oidc-client-id", "", "client `id` that identity tokens are asked for (default: sigstore)")
	flags.BoolVar(&o.device, "device-flow", false, "sign in with a code on another device")
	flags.IntVar(&o.concurrency, "concurrency", 0, "`number` of uploads at once (default: 8)")
	flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask on a terminal before anything is published in the logs of the public Sigstore")
	_ = cmd.RegisterFlagCompletionFunc("rekor-version", cobra.FixedCompletions([]string{"1", "2"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("bundle-format", cobra.FixedCompletions([]string{string(sign.BundleBoth), string(sign.BundleCosign), string(sign.BundleSigstore)}, cobra.ShellCompDirectiveNoFileComp))
	trusted := trustflags.Add(cmd)
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
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
	shapeconfig.LeaveClaims(&shapes)
	r := &run{options: o, config: cfg, report: &cli.Report{Tool: "polex-sign",
		Reasons: slices.Concat(promote.Reasons(), review.Reasons(), verify.Reasons(), sign.Reasons(), shapeconfig.Reasons(shapes), ownReasons())}}
	shapes.Policies = cli.Policies(shapeconfig.PolicyPaths(cfg, nil), r.report)
	if r.checks.Shape, err = shapeconfig.Checker(shapes); err != nil {
		return nil, err
	}
	r.checks.Overlaps = shapes.Levels[shape.ReasonOverlaps] == shape.LevelError
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
	r.checks.Rules = sign.Rules{InsecureAllowUnbounded: c.InsecureAllowUnbounded, TTLLabel: r.options.ttlLabel, Terms: terms}
	r.kinds = c.Kinds
	if r.checks.Kinds, err = trust.NewKinds(c.Kinds); err == nil {
		r.root, err = trust.LoadRoot(c.TrustedRoot)
	}
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	if len(c.Authorities) == 0 && r.options.sealedInput == "" {
		return nil // then signed documents only have to verify with the signer's own identity
	}
	if r.policy, err = flags.Policy(r.config); err == nil {
		r.verifier, err = verify.New(r.policy)
	}
	return err
}

// check rejects flags that contradict each other, before any other work.
func (o *options) check(paths []string) error {
	if err := o.checkPromote(o.promote); err != nil {
		return err
	}
	switch {
	case o.promote && len(paths) > 0:
		return cli.Usagef("--promote signs the pending exceptions of the repository; remove the paths")
	case o.bundle != "" && o.promote:
		return cli.Usagef("--bundle is about one document, and --promote takes everything that waits")
	case o.bundle != "" && o.bundle == o.output:
		return cli.Usagef("--bundle and --output name the same file")
	case o.promote && o.output != "":
		return cli.Usagef("--promote writes to the signed folder, and --output is for paths")
	case !o.promote && len(paths) == 0:
		return &cli.UsageError{Err: errors.New("no path is given"), Hint: "name files or folders, - for standard input, or use --promote"}
	case o.key != "" && (o.identityToken != "" || o.fulcioURL != "" || o.device):
		return cli.Usagef("--key signs with a key, and the other flags with an identity: choose one")
	case o.concurrency < 0 || o.concurrency > 64:
		return cli.Usagef("--concurrency is 1 to 64")
	}
	return nil
}

func (o *options) load() (*config.Config, error) {
	cfg, err := cli.LoadRepositoryConfig(o.config)
	if err != nil {
		return nil, err
	}
	s, d := cfg.Sigstore, cfg.Directories
	o.ttlLabel, o.replace = cfg.Lifetime.TTLLabel, cfg.Promote.Updates == "replace"
	for _, setting := range []struct {
		flag *string
		file string
	}{
		{&o.fulcioURL, s.FulcioURL}, {&o.rekorURL, s.RekorURL}, {&o.oidcIssuer, s.OIDCIssuer}, {&o.oidcClientID, s.OIDCClientID}, {&o.timestampURL, s.TimestampURL},
		{&o.bundleFormat, s.BundleFormat},
		{&o.unsigned, d.Unsigned}, {&o.signed, d.Signed},
	} {
		if *setting.flag == "" {
			*setting.flag = setting.file
		}
	}
	if o.rekorVersion == 0 {
		o.rekorVersion = s.RekorVersion
	}
	if err := o.checkSigstore(); err != nil {
		return nil, err
	}
	for _, address := range []string{o.fulcioURL, o.rekorURL, o.timestampURL, o.oidcIssuer} {
		if err := checkAddress(address); err != nil {
			return nil, &cli.UsageError{Err: fmt.Errorf("address %q: %w", address, err), Hint: "write it like https://rekor.example.com"}
		}
	}
	return cfg, nil
}

// sigstore returns the configuration of the signing services.
func (o *options) sigstore() sign.Config {
	return sign.Config{RekorURL: o.rekorURL, RekorVersion: o.rekorVersion, TimestampURL: o.timestampURL,
		BundleFormat: sign.BundleFormat(o.bundleFormat), Concurrency: o.concurrency}
}

// checkSigstore rejects settings that contradict each other.
func (o *options) checkSigstore() error {
	cosign := sign.BundleFormat(o.bundleFormat) == sign.BundleCosign
	if o.bundle != "" && cosign {
		return cli.Usagef("--bundle writes a Sigstore bundle, and --bundle-format cosign makes none")
	}
	err := o.sigstore().Check()
	switch {
	case err == nil:
		return nil
	case o.rekorVersion == 2 && o.rekorURL == "":
		return &cli.UsageError{Err: err, Hint: "name the log that is in use with --rekor-url: the public-good addresses change twice a year"}
	case o.rekorVersion == 2 && o.timestampURL == "":
		return &cli.UsageError{Err: err, Hint: "name one of the trusted root with --timestamp-server-url"}
	case cosign:
		return &cli.UsageError{Err: err, Hint: "use --bundle-format sigstore or both"}
	}
	return &cli.UsageError{Err: err}
}
