// Package verify is the command polex-verify. It verifies signed exceptions without the network.
package verify

//go:generate go test -run ^TestReasonsPage$ . -update

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/parallel"
	"github.com/polex-dev/polex/internal/command/trustflags"
	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

const help = `Verify that exceptions are signed by a trusted signer, unmodified and not expired.

PATH is a file, a folder or - for standard input; with --git, polex-verify reads a commit.
The trusted signers come from --config or from flags, never from the environment or
from the verified files. polex-verify uses no network.

Exit codes: 0 at least one document and all verified, 1 rejected, 2 invalid command line
or configuration, 3 could not decide or there is no document. With --only-exceptions, an
empty folder directories.signed is 0, also if it is missing in a commit.`

const example = `  # the signer: a workflow of acme/exceptions on main
  polex-verify signed/ \
    --certificate-identity https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/main \
    --certificate-oidc-issuer https://token.actions.githubusercontent.com
  # a commit, printed as it was signed
  polex-verify --config polex.yaml --git . --ref main --path signed --emit=signed
  # live exceptions, with all facts
  kubectl get policyexception -n platform-exceptions mongo -o yaml | polex-verify --config polex.yaml --explain -`

// options are the flags.
type options struct {
	config, cluster, bundle      string
	emit                         string // "", "message" or "signed"
	git, ref                     string
	paths                        []string // in the commit
	explain, exceptions, anyTime bool
	given                        func(flag string) bool
	format                       *cli.Format
	trusted                      *trustflags.Flags
}

// New makes the command.
func New(streams cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "polex-verify [flags] PATH... | polex-verify --git FOLDER [flags]",
		Short:                 "Verify that exceptions are signed, unchanged and unexpired",
		Long:                  help,
		Example:               example,
		DisableFlagsInUseLine: true,
	}
	flags := cmd.Flags()
	o := &options{given: flags.Changed, format: cli.AddFormatFlag(cmd), trusted: trustflags.Add(cmd)}
	o.trusted.AddKey(cmd)
	flags.StringVar(&o.config, "config", "", "configuration `file` with the trust policy (default: none)")
	flags.StringVar(&o.git, "git", "", "verify a commit of the Git repository in a `folder`")
	flags.StringVar(&o.ref, "ref", "HEAD", "with --git, the `commit`: HEAD, a branch, a tag or a whole hash")
	flags.StringArrayVar(&o.paths, "path", nil,
		"with --git, a `file` or folder in the commit, or . (default: directories.signed; with --only-exceptions: "+
			"signed)")
	flags.BoolVar(&o.explain, "explain", false, "print signer, run, commit, log entry or timestamp, and expiry")
	flags.StringVar(&o.emit, "emit", "",
		"print the verified documents if all pass: message (without signature) or signed")
	flags.Lookup("emit").NoOptDefVal = "message"
	cli.Check(flags, "emit", cli.OneOf("message", "signed"))
	flags.StringVar(&o.bundle, "bundle", "", "verify one unsigned document by the Sigstore bundle (v0.3) in a `file`")
	flags.BoolVar(&o.exceptions, "only-exceptions", false, "reject every other file, such as a Kustomization")
	flags.BoolVar(&o.anyTime, "any-time", false,
		"also accept exceptions that have expired or have not started, such as in a check of a pull request")
	flags.StringVar(&o.cluster, "cluster-name", "",
		"name of the `cluster`: reject exceptions for others ("+exception.AnnotationCluster+
			"), or leave them out of --emit")
	cmd.Args = o.check
	cmd.RunE = func(cmd *cobra.Command, paths []string) error { return o.run(cmd.Context(), paths, streams) }
	return cmd
}

// check rejects an invalid command line before anything is read.
func (o *options) check(cmd *cobra.Command, paths []string) error {
	inGit := o.given("git")
	switch {
	case !inGit && (o.given("ref") || o.given("path")):
		return cli.UsageHint("add --git FOLDER, the clone to read", "--ref and --path require --git")
	case !inGit && len(paths) == 0:
		return cli.AtLeastOnePath(cmd, paths)
	case inGit && len(paths) > 0:
		return cli.UsageHint("name the path in the commit with --path",
			"with --git, %q is neither on disk nor in the commit", paths[0])
	case o.bundle != "" && inGit:
		return cli.Usagef("--bundle cannot be combined with --git")
	case o.bundle != "" && o.emit == "signed":
		return cli.UsageHint("print the document itself with --emit=message",
			"--bundle cannot be combined with --emit=signed: the document has no signature")
	case o.bundle != "" && len(paths) != 1:
		return cli.UsageHint("verify them one by one, each with its own bundle", "--bundle requires exactly one PATH")
	case o.bundle != "" && o.exceptions:
		return cli.Usagef("--only-exceptions requires signed documents, and --bundle verifies an unsigned one")
	case o.exceptions && slices.Contains(paths, "-"):
		return cli.UsageHint("name the folder", "--only-exceptions cannot be combined with standard input (-)")
	case o.anyTime && (o.emit != "" || o.bundle != ""):
		return cli.Usagef("--any-time cannot be combined with --emit or --bundle")
	case o.explain && o.format.String() != "text" && o.format.String() != "json":
		return cli.UsageHint("remove -o, or use -o json, which has the facts under details",
			"--explain cannot be combined with -o %s", o.format)
	}
	var bad *git.RevisionError
	if err := git.CheckRevision(o.ref); inGit && errors.As(err, &bad) {
		return cli.UsageHint(bad.Hint(), "%w", err)
	}
	return nil
}

// run verifies the documents and writes the results.
func (o *options) run(ctx context.Context, paths []string, streams cli.Streams) error {
	cfg, err := cli.LoadConfig(o.config)
	if err != nil {
		return err
	}
	verifier, err := o.trusted.Verifier(cfg)
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(cli.Room())
	report := &cli.Report{Tool: "polex-verify", Done: "verified", Reasons: append(verify.Reasons(), ownReasons()...)}
	r := run{options: o, verifier: verifier, report: report, now: streams.Now(),
		ownKeys: slices.Concat(cfg.Statements.All(), verifier.Terms().Keys),
		emitted: exception.Stream{Limit: maxEmitted}}
	inputs := cli.Inputs{Paths: paths, Stdin: streams.In, Report: report}
	signed := cfg.Directories.Signed
	if o.exceptions {
		signed, inputs.Screen = path.Clean(cmp.Or(signed, "signed")), screen
	}
	documents := inputs.Each
	if o.given("git") {
		commit := &commitInputs{options: o, in: inputs}
		if paths, err = o.inCommit(signed); err != nil {
			return err
		}
		documents = func(visit func(*exception.Document)) { commit.each(ctx, paths, visit) }
	}
	if o.exceptions && onlySigned(paths, signed, o.given("git")) {
		report.Idle = "nothing is signed: there is no exception in " + signed
	}
	if o.bundle != "" {
		r.detached(inputs)
	} else {
		r.all(documents, cli.StartProgress(streams.Err, "verifying documents"))
	}
	results := streams.Out
	if o.emit != "" {
		results = streams.Err
	}
	if err := o.format.Write(results, report); err != nil {
		return err
	}
	if err := r.writeEmitted(streams.Out); err != nil {
		return err
	}
	return report.Err()
}

// The reasons that only this command has.
const (
	reasonDuplicate = "duplicate-identity"
	reasonUndecided = "undecided"
	reasonElsewhere = "another-cluster"
)

// ownReasons returns these reasons and those of the other files.
func ownReasons() []exception.Reason {
	return []exception.Reason{
		{Name: reasonDuplicate, Doc: "an earlier document is the same object to the API server, and only one of the " +
			"two can be applied"},
		{Name: reasonUnexpectedFile, Doc: "with --only-exceptions, a file does not hold signed documents, and tools " +
			"that apply the folder may follow its instructions"},
		{Name: reasonUnknownRevision, Doc: "--ref names no commit, or several: could not decide, exit code 3"},
		{Name: reasonNotEmitted, Doc: "the document is verified but cannot be printed: could not decide, exit code 3"},
		{Name: reasonElsewhere, Doc: "with --cluster-name, it is for other clusters, by its annotation " +
			exception.AnnotationCluster},
		{Name: reasonUndecided, Doc: "an internal error: could not decide, exit code 3"},
		{Name: manifest.UnknownAnnotation.Name, Doc: manifest.UnknownAnnotation.Doc,
			Severity: exception.SeverityWarning},
	}
}

type run struct {
	*options
	verifier *verify.Verifier
	report   *cli.Report
	now      time.Time
	met      exception.Identities
	emitted  exception.Stream  // of --emit
	ownKeys  []string          // of statements and of the expiry
	special  map[string]string // hints that win over the general ones
}

// all verifies documents in parallel.
func (r *run) all(documents func(visit func(*exception.Document)), progress *cli.Progress) {
	defer progress.Stop()
	settle := func(doc *exception.Document, a answer) {
		r.settle(doc, a)
		progress.Tell("verifying documents", r.report.Documents, 0)
	}
	parallel.Ordered[*exception.Document, answer]{Workers: runtime.GOMAXPROCS(0), Work: r.verify,
		Done: settle}.Each(documents)
}

// answer is the result of the verifier for a document, and the form to print if it passes.
type answer struct {
	verified *verify.Verified
	err      error
	outside  string // why it is not valid now, with --any-time

	emitted *exception.Document
	emitErr error
}

// verify runs for several documents in parallel.
func (r *run) verify(doc *exception.Document) answer {
	examined := r.verifier.Examine(doc)
	verified, err := examined.At(r.now)
	a := r.answer(doc, verified, err)
	var rejected *verify.Rejected
	if !r.anyTime || !errors.As(err, &rejected) {
		return a
	}
	switch rejected.Reason {
	case verify.ReasonExpired:
		a.verified, a.err = examined.At(rejected.Facts.ExpiresAt.Add(-time.Second))
	case verify.ReasonNotYetValid:
		a.verified, a.err = examined.At(rejected.Facts.StartsAt)
	}
	a.outside = " (" + rejected.Detail + ")"
	return a
}

func (r *run) answer(doc *exception.Document, verified *verify.Verified, err error) answer {
	a := answer{verified: verified, err: err}
	if a.err == nil && r.emit != "" {
		a.emitted, a.emitErr = printed(doc, a.verified, r.emit == "signed")
	}
	return a
}

// settle adds a document to the report. It runs for one document at a time.
func (r *run) settle(doc *exception.Document, a answer) {
	result := cli.ResultFor(doc)
	var facts verify.Facts
	var rejected *verify.Rejected
	switch {
	case errors.As(a.err, &rejected):
		facts = rejected.Facts
		result.Outcome, result.Reason, result.Message = cli.Refuse, rejected.Reason, rejected.Detail
		result.Hint = cmp.Or(r.special[rejected.Reason], hints[rejected.Reason])
		switch {
		case rejected.Reason == verify.ReasonKindNotAllowed && doc.IsList():
			result.Hint = "put each document of the list into a file of its own"
		case rejected.Reason == verify.ReasonKindNotAllowed && doc.GroupKind().Kind == "":
			result.Hint = "is this the right file?"
		}
	case a.err != nil:
		result.Outcome, result.Reason, result.Message = cli.Unknown, reasonUndecided, a.err.Error()
	default:
		facts = a.verified.Facts()
		r.accept(doc, a, &result)
	}
	if r.explain {
		result.Facts = explain(facts, result.Outcome == cli.Pass)
	}
	if r.format.Writes("json") { // a report without them is small
		result.Details = details(facts)
	}
	r.report.Add(result)
	if result.Outcome == cli.Pass {
		r.warn(doc)
	}
}

// warn adds a warning for each annotation of polex that polex does not read. The signature covers it,
// so nobody added it after the review.
func (r *run) warn(doc *exception.Document) {
	for _, key := range manifest.UnknownKeys(doc, r.ownKeys) {
		result, at := cli.ResultFor(doc), doc.PositionOf(key.Path)
		result.Outcome, result.Reason = cli.Warn, manifest.UnknownAnnotation.Name
		result.Line, result.Column, result.Path = at.Line, at.Column, key.Path.String()
		result.Message, result.Hint = key.Message, key.Hint
		r.report.Add(result)
	}
}

// accept passes a verified document. It rejects a second document of the same object. A document
// that cannot be printed is undecided.
func (r *run) accept(doc *exception.Document, a answer, result *cli.Result) {
	clusters := wildcard.Names(a.verified.Message().Clusters())
	if r.cluster != "" && clusters != nil && !clusters.Include(r.cluster) {
		result.Outcome, result.Reason = cli.Refuse, reasonElsewhere
		if r.emit != "" {
			result.Outcome = cli.Pass
		}
		result.Message = fmt.Sprintf("it is for the clusters %q, and this is %q", clusters, r.cluster)
		return
	}
	if first, again := r.met.Add(doc); again {
		result.Outcome, result.Reason = cli.Refuse, reasonDuplicate
		result.Message = fmt.Sprintf("%s is already at %s", doc.Identity(), first)
		result.Hint = "only one of the two can be applied: keep the approved one"
		return
	}
	err := a.emitErr
	if err == nil && r.emit != "" {
		err = r.emitted.Add(a.emitted)
	}
	if err != nil {
		result.Outcome, result.Reason, result.Message = cli.Unknown, reasonNotEmitted, err.Error()
		return
	}
	result.Outcome, result.Reason, result.Message = cli.Pass, "verified", summary(a.verified.Facts())+a.outside
}
