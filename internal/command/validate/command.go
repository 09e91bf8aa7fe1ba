// Package validate is the command polex-validate. It checks exceptions before the review.
package validate

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/changed"
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/parallel"
	"github.com/polex-dev/polex/internal/command/shapeconfig"
	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

const help = `Check exceptions before review and signing: the API server accepts them unchanged, they
name their resources and rules, they expire, they have the required statements, and
they do not exempt the guard.

PATH is a file, a folder or - for standard input (default: the pending exceptions,
unsigned/). Every file there must also pass the rules of polex-sign promote. Files of
other kinds there, such as a kustomization.yaml, are skipped and counted.

Exceptions for PolicyException, for policies named polex-* and for the namespaces kyverno
and polex-system are always rejected.

Exit codes: 0 all valid or nothing pending, 1 rejected, 2 invalid command line or
configuration, 3 something could not be read or there is no document.`

const example = `  # in a pull request, with annotations on its lines
  polex-validate -o github unsigned/
  # only the files that the pull request changes
  polex-validate --changed-since origin/main unsigned/
  # with the policies, the resources and the signed exceptions
  polex-validate --policies policies/ --resources apps/ --signed signed/ unsigned/`

type options struct {
	config, changedSince        string
	skipOtherKinds              bool
	policies, resources, signed []string // paths
	fix, wholePolicy            bool
}

// New makes the command.
func New(streams cli.Streams) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:                   "polex-validate [flags] [PATH...]",
		Short:                 "Check exceptions before review and signing",
		Long:                  help,
		Example:               example,
		DisableFlagsInUseLine: true,
	}
	format := cli.AddFormatFlag(cmd)
	flags := cmd.Flags()
	cli.AddConfigFlag(flags, &o.config)
	flags.StringVar(&o.changedSince, "changed-since", "",
		"check only files changed since the merge base with a `commit` or branch")
	flags.BoolVar(&o.skipOtherKinds, "skip-other-kinds", false,
		"skip files without exceptions and count them (in unsigned/ always, in signed/ never)")
	shapeconfig.AddFlags(cmd)
	flags.StringSliceVar(&o.policies, "policies", nil,
		"paths of the Kyverno policies (default: directories.policies of the configuration)")
	flags.StringSliceVar(&o.resources, "resources", nil, "paths of manifests, to list the exempted resources")
	flags.StringSliceVar(&o.signed, "signed", nil,
		"paths of the signed exceptions, to compare with (default: signed/ if PATH is in unsigned/)")
	flags.BoolVar(&o.fix, "fix", false,
		"print the exceptions without metadata of tools, or if none has any, in the form of policies.kyverno.io")
	flags.BoolVar(&o.wholePolicy, "whole-policy", false,
		"with --fix: exempt from whole policies; the new form has no rules")
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		switch {
		case o.wholePolicy && !o.fix:
			return cli.Usagef("--whole-policy requires --fix")
		case o.skipOtherKinds && o.fix:
			return cli.Usagef("--skip-other-kinds cannot be combined with --fix, which prints every document")
		}
		cfg, err := cli.LoadRepositoryConfig(o.config)
		if err != nil {
			return err
		}
		r := &run{options: o, cfg: cfg, streams: streams, format: format, now: streams.Now()}
		if r.shape, err = shapeconfig.Config(cfg, flags); err != nil {
			return err
		}
		shapeconfig.WeighClaims(cfg.Promote, &r.shape)
		return r.validate(cmd.Context(), paths)
	}
	return cmd
}

type run struct {
	*options
	cfg      *config.Config
	shape    shape.Config
	streams  cli.Streams
	format   *cli.Format
	report   *cli.Report
	now      time.Time
	checker  *shape.Checker
	set      shape.Set
	byMatch  bool            // there are exceptions of kyverno.io
	live     []string        // paths of the live exceptions
	renewals *renewals       // nil if no live exceptions are given
	queued   []cli.Result    // what promotion would reject
	blocked  map[string]bool // the files of these results
}

// validate checks the documents at the paths.
func (r *run) validate(ctx context.Context, paths []string) error {
	defer runtime.KeepAlive(cli.Room())
	r.report = &cli.Report{Tool: "polex-validate", Done: "valid", Reasons: reasons(r.shape),
		CountPassed: !r.format.Writes("json")}
	repository, err := openRepository(r.cfg)
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		r.report.Idle = cli.NothingPending(r.cfg.Directories.Unsigned)
		if paths, err = repository.defaultPaths(); err != nil {
			return err
		}
	}
	inputs := cli.Inputs{Paths: paths, Stdin: r.streams.In, Report: r.report}
	var since *changed.Since
	if r.changedSince != "" {
		if since, err = changed.Open(ctx, ".", r.changedSince); err != nil {
			return err
		}
		inputs.Changed = since.Changed
	}
	progress := cli.StartProgress(r.streams.Err, "reading")
	defer progress.Stop()
	var waiting *queue
	if !r.fix {
		inputs.Skip = func(path string) bool { return repository.skips(path, r.skipOtherKinds) }
		if waiting, err = openQueue(ctx, repository, r.cfg, paths, since); err != nil {
			return err
		}
	}
	misplaced, err := repository.misplaced(ctx, since)
	if err != nil {
		return err
	}
	r.report.Add(misplaced...)
	if err := r.readContext(waiting, since); err != nil {
		return err
	}
	if r.checker, err = shapeconfig.Checker(r.shape); err != nil {
		return err
	}
	if r.fix {
		fix := &fixer{run: r}
		inputs.Each(fix.document)
		progress.Stop()
		return fix.finish()
	}
	if waiting != nil {
		r.await(waiting)
	}
	add := func(doc *exception.Document, a answer) {
		r.add(doc, a)
		progress.Tell("checking documents", r.report.Documents, 0)
	}
	parallel.Ordered[*exception.Document, answer]{Workers: runtime.GOMAXPROCS(0), Work: r.check,
		Done: add}.Each(inputs.Each)
	r.renewals.finish(r.report, cli.Documents(r.live, &cli.Report{}, cli.Warn)) // they are on the report already
	r.promotion()
	if r.byMatch {
		r.report.Remark = endOfMatch(r.shape.KyvernoVersion)
	}
	progress.Stop()
	return cli.Finish(r.format, r.streams.Out, r.report)
}

// readContext reads the policies, resources and live exceptions. It reports unreadable files,
// because an exception must not pass if its policy could not be read. Manifests may be templates
// that are not YAML, so an unreadable one is only a warning.
//
// If no flag names the live exceptions and waiting is not nil, they come from waiting. polex-verify
// rejects the unreadable ones of those.
func (r *run) readContext(waiting *queue, since *changed.Since) (err error) {
	setting, policies := "--policies", r.cfg.PolicyPaths(r.policies)
	if len(r.policies) == 0 {
		setting = "directories.policies of the configuration"
	}
	defer func() {
		cli.Given(r.report, setting, policies)
		cli.Given(r.report, "--resources", r.resources)
		cli.Given(r.report, "--signed", r.signed)
	}()
	r.shape.Policies = cli.Policies(policies, r.report)
	for _, path := range policies {
		if since != nil && !r.shape.Policies.Proposed {
			if r.shape.Policies.Proposed, err = since.Touched(path); err != nil {
				return err
			}
		}
	}
	if len(r.resources) > 0 {
		r.shape.Resources = shape.ReadResources(slices.Collect(cli.Documents(r.resources, r.report, cli.Warn)))
	}
	unreadable := r.report
	if r.live = r.signed; len(r.live) == 0 && waiting != nil {
		r.live, unreadable = waiting.signed, &cli.Report{}
	}
	r.set.Terms = r.shape.Rules.Terms
	if len(r.live) > 0 || waiting != nil {
		r.renewals = &renewals{newApprover: r.shape.Rules.Renewals.NewApprover}
		r.set.Live(cli.Documents(r.live, unreadable, cli.Refuse), r.now)
	}
	return nil
}

// endOfMatch returns the remark that a release of Kyverno deprecates the exceptions of kyverno.io, or "".
func endOfMatch(version string) string {
	assumed := ""
	if version == "" {
		assumed = fmt.Sprintf("without shape.kyvernoVersion, polex assumes 1.%d; ", kyverno.MatchDeprecated)
	}
	if release, err := kyverno.ParseRelease(version); err != nil ||
		release != 0 && (release < kyverno.MatchDeprecated || release >= kyverno.MatchIgnored) {
		return "" // shape.New reports another text, and each exception that is ignored
	}
	return fmt.Sprintf("kyverno.io exceptions end with Kyverno 1.%d: %spolex-validate --fix moves them to "+
		"policies.kyverno.io", kyverno.MatchIgnored, assumed)
}

// The reasons that only this command has.
const (
	reasonWellShaped    = "well-shaped"
	reasonMisplaced     = "misplaced"
	reasonNoCounterpart = "no-counterpart" // with --fix, and so are the next two
	reasonTranslated    = "translated"
	reasonNotWritten    = "not-written"
)

func reasons(config shape.Config) []exception.Reason {
	return slices.Concat(shapeconfig.Reasons(config), pending.Reasons(), []exception.Reason{
		{Name: reasonWellShaped, Doc: "the exception passes every check", Severity: exception.SeverityNote},
		{Name: reasonApproversUnknown,
			Doc: "a renewal requires another approver, and the approvers of the predecessor are unknown"},
		{Name: reasonMisplaced, Doc: "the file is in neither folder of exceptions, so polex never signs it",
			Severity: exception.SeverityWarning},
		{Name: reasonNoCounterpart, Doc: "no exception of policies.kyverno.io exempts the same"},
		{Name: reasonTranslated, Doc: "the exception is printed in the form of policies.kyverno.io",
			Severity: exception.SeverityNote},
		{Name: reasonNotWritten, Doc: "an internal error: the exception cannot be printed"},
	})
}

// await keeps what promotion would reject, for the end of the run.
func (r *run) await(waiting *queue) {
	r.queued, r.blocked = waiting.check(), map[string]bool{}
	for _, result := range r.queued {
		r.blocked[result.File] = true
	}
}

// promotion adds what promotion would reject to the report, unless the report has it already.
func (r *run) promotion() {
	type problem struct{ file, reason string }
	reported := map[problem]bool{}
	for _, result := range r.report.Results() {
		reported[problem{filepath.Clean(result.File), result.Reason}] = true
	}
	for _, result := range r.queued {
		if !reported[problem{result.File, result.Reason}] {
			r.report.Add(result)
		}
	}
}

// answer is the result of the checks of a single document.
type answer struct {
	found   []shape.Finding
	exempts shape.Exemption
	large   []cli.Result // a warning about client-side apply
}

// check runs for several documents in parallel.
func (r *run) check(doc *exception.Document) answer {
	a := answer{found: r.checker.Check(doc, r.now)}
	if !slices.ContainsFunc(a.found, func(f shape.Finding) bool { return f.Severity == shape.Error }) {
		a.exempts = r.checker.Exempted(doc)
		if warning, found := shapeconfig.ClientSideApply(doc); found {
			a.large = []cli.Result{warning}
		}
	}
	return a
}

// add adds the problems of a document to the report: its own, and those in combination with
// earlier documents. Without errors, it adds the exempted resources. It runs for one document at a
// time.
func (r *run) add(doc *exception.Document, a answer) {
	r.byMatch = r.byMatch || doc.GroupKind() == kyverno.MatchKind
	results := shapeconfig.Results(doc, append(a.found, r.checker.Weigh(r.set.Add(doc))...))
	r.report.Add(append(results, a.large...)...)
	if slices.ContainsFunc(results, func(result cli.Result) bool { return result.Outcome == cli.Refuse }) {
		return
	}
	if r.blocked[filepath.Clean(doc.File())] {
		return
	}
	result := cli.ResultFor(doc)
	result.Outcome, result.Reason = cli.Pass, reasonWellShaped
	if exempts := a.exempts; exempts.Count > 0 || exempts.Cut || len(r.resources) > 0 && !exempts.Known {
		result.Message = "would exempt " + shapeconfig.Exempted(exempts)
		if len(exempts.Assumed) > 0 {
			result.Message += ", assuming " + strings.Join(exempts.Assumed, ", and ")
		}
		if exempts.Known {
			result.Details = map[string]any{"exempts": shapeconfig.Names(exempts.Resources), "count": exempts.Count,
				"assumed": exempts.Assumed, "only": exempts.Only}
		}
	}
	if !r.renewals.keep(doc, result) {
		r.report.Add(result)
	}
}
