// Package verify is the command polex-verify. It verifies signed exceptions without the network.
package verify

//go:generate go test -run ^TestReasonsPage$ . -update

import (
	"cmp"
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

// New makes the command.
func New(streams cli.Streams) *cobra.Command {
	var configPath string
	cmd := &cobra.Command{
		Use:                   "polex-verify [flags] PATH... | polex-verify --git FOLDER [flags]",
		Short:                 "Verify that exceptions are signed, unchanged and unexpired",
		Long:                  help,
		Example:               example,
		DisableFlagsInUseLine: true,
	}
	format := cli.AddFormatFlag(cmd)
	cmd.Flags().StringVar(&configPath, "config", "", "configuration `file` with the trust policy (default: none)")
	trusted := trustflags.Add(cmd)
	trusted.AddKey(cmd)
	git, explain, emit, detached, only := addGitFlags(cmd), addExplainFlag(cmd), addEmitFlag(cmd), addBundleFlag(
		cmd), addOnlyFlag(cmd)
	var anyTime bool
	cmd.Flags().BoolVar(&anyTime, "any-time", false,
		"also accept exceptions that have expired or have not started, such as in a check of a pull request")
	var cluster string
	cmd.Flags().StringVar(&cluster, "cluster-name", "",
		"name of the `cluster`: reject exceptions for others ("+exception.AnnotationCluster+
			"), or leave them out of --emit")
	cmd.Args = git.check
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		if err := detached.check(paths, git, emit); err != nil {
			return err
		}
		if err := emit.check(paths); err != nil {
			return err
		}
		if err := only.check(paths, detached); err != nil {
			return err
		}
		if anyTime && (emit.on() || detached.on()) {
			return cli.Usagef("--any-time cannot be combined with --emit or --bundle")
		}
		if err := explain.check(format); err != nil {
			return err
		}
		cfg, err := cli.LoadConfig(configPath)
		if err != nil {
			return err
		}
		verifier, err := trusted.Verifier(cfg)
		if err != nil {
			return err
		}
		defer runtime.KeepAlive(cli.Room())
		report := &cli.Report{Tool: "polex-verify", Done: "verified",
			Reasons: append(verify.Reasons(), ownReasons()...)}
		inputs := cli.Inputs{Paths: paths, Stdin: streams.In, Report: report}
		if only.on {
			inputs.Screen = only.screen
		}
		signed, documents := cfg.Directories.Signed, inputs.Each
		if only.on {
			signed = path.Clean(cmp.Or(signed, "signed"))
		}
		if git.on() {
			commit := &commitInputs{ctx: cmd.Context(), flags: git, report: report, screen: inputs.Screen}
			if commit.paths, err = git.inCommit(signed); err != nil {
				return err
			}
			paths, documents = commit.paths, commit.each
		}
		if only.mayBeEmpty(paths, signed, git.on()) {
			report.Idle = "nothing is signed: there is no exception in " + signed
		}
		r := run{verifier: verifier, report: report, now: streams.Now(), anyTime: anyTime, cluster: cluster,
			explain: explain.on, details: format.Writes("json"), emit: emit,
			ownKeys: slices.Concat(cfg.Statements.All(), verifier.Terms().Keys)}
		if detached.on() {
			detached.verify(&r, inputs)
		} else {
			progress := cli.StartProgress(streams.Err, "verifying documents")
			settle := func(doc *exception.Document, a answer) {
				r.settle(doc, a)
				progress.Tell("verifying documents", report.Documents, 0)
			}
			parallel.Ordered[*exception.Document, answer]{Workers: runtime.GOMAXPROCS(0), Work: r.verify,
				Done: settle}.Each(documents)
			progress.Stop()
		}

		results := streams.Out
		if emit.on() {
			results = streams.Err
		}
		if err := format.Write(results, report); err != nil {
			return err
		}
		if err := emit.write(streams.Out, report); err != nil {
			return err
		}
		return report.Err()
	}
	return cmd
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
	verifier *verify.Verifier
	report   *cli.Report
	now      time.Time
	met      exception.Identities
	emit     *emission
	ownKeys  []string          // of statements and of the expiry
	cluster  string            // "" accepts exceptions for any cluster
	anyTime  bool              // expired ones and those that have not started pass
	explain  bool              // in text
	details  bool              // for JSON only, to keep large reports small
	special  map[string]string // hints that win over the general ones
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
	if a.err == nil && r.emit.on() {
		a.emitted, a.emitErr = r.emit.of(doc, a.verified)
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
		if result.Hint = r.special[rejected.Reason]; result.Hint == "" {
			result.Hint = hints[rejected.Reason]
		}
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
	if r.details {
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
		if r.emit.on() {
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
	if err == nil && r.emit.on() {
		err = r.emit.stream.Add(a.emitted)
	}
	if err != nil {
		result.Outcome, result.Reason, result.Message = cli.Unknown, reasonNotEmitted, err.Error()
		return
	}
	result.Outcome, result.Reason, result.Message = cli.Pass, "verified", summary(a.verified.Facts())+a.outside
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }
