// Package validate is the command polex-validate. It checks exceptions before the review.
package validate

import (
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

// New makes the command.
func New(streams cli.Streams) *cobra.Command {
	var o options
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
	o.around.addFlags(cmd)
	flags.BoolVar(&o.fix, "fix", false,
		"print the exceptions without metadata of tools, or if none has any, in the form of policies.kyverno.io")
	flags.BoolVar(&o.wholePolicy, "whole-policy", false,
		"with --fix: exempt from whole policies; the new form has no rules")
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		if o.wholePolicy && !o.fix {
			return cli.Usagef("--whole-policy requires --fix")
		}
		if o.skipOtherKinds && o.fix {
			return cli.Usagef("--skip-other-kinds cannot be combined with --fix, which prints every document")
		}
		cfg, err := cli.LoadRepositoryConfig(o.config)
		if err != nil {
			return err
		}
		config, err := shapeconfig.Config(cfg, flags)
		if err != nil {
			return err
		}
		shapeconfig.WeighClaims(cfg.Promote, &config)
		defer runtime.KeepAlive(cli.Room())
		report := &cli.Report{Tool: "polex-validate", Done: "valid", Reasons: reasons(config),
			CountPassed: !format.Writes("json")}
		repository, err := openRepository(cfg)
		if err != nil {
			return err
		}
		if len(paths) == 0 {
			report.Idle = cli.NothingPending(cfg.Directories.Unsigned)
			if paths, err = repository.defaultPaths(); err != nil {
				return err
			}
		}
		inputs := cli.Inputs{Paths: paths, Stdin: streams.In, Report: report}
		var since *changed.Since
		if o.changedSince != "" {
			if since, err = changed.Open(cmd.Context(), ".", o.changedSince); err != nil {
				return err
			}
			inputs.Changed = since.Changed
		}
		progress := cli.StartProgress(streams.Err, "reading")
		defer progress.Stop()
		run := &run{report: report, now: streams.Now()}
		var waiting *queue
		if !o.fix {
			inputs.Skip = func(path string) bool { return repository.skips(path, o.skipOtherKinds) }
			if waiting, err = openQueue(cmd.Context(), repository, cfg, paths, since); err != nil {
				return err
			}
		}
		misplaced, err := repository.misplaced(cmd.Context(), since)
		if err != nil {
			return err
		}
		report.Add(misplaced...)
		if err := o.around.read(run, waiting, since, cfg, &config); err != nil {
			return err
		}
		if run.checker, err = shapeconfig.Checker(config); err != nil {
			return err
		}
		if o.fix {
			fix := &fixer{checker: run.checker, now: run.now, policies: run.policies, wholePolicy: o.wholePolicy,
				report: report}
			inputs.Each(fix.document)
			progress.Stop()
			return fix.finish(format, streams)
		}
		if waiting != nil {
			run.await(waiting)
		}
		add := func(doc *exception.Document, a answer) {
			run.add(doc, a)
			progress.Tell("checking documents", report.Documents, 0)
		}
		checks := parallel.Ordered[*exception.Document, answer]{
			Workers: runtime.GOMAXPROCS(0), Work: run.check, Done: add,
		}
		checks.Each(inputs.Each)
		run.renewals.finish(report, cli.Documents(run.live, &cli.Report{}, cli.Warn)) // they are on the report already
		run.promotion(report)
		if run.byMatch {
			report.Remark = endOfMatch(config.KyvernoVersion)
		}
		progress.Stop()
		return cli.Finish(format, streams.Out, report)
	}
	return cmd
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

type options struct {
	config, changedSince string
	skipOtherKinds       bool
	around               surroundings
	fix, wholePolicy     bool
}

type run struct {
	checker   *shape.Checker
	policies  *shape.PolicySet // nil if none are given
	set       shape.Set
	exempting bool      // there are resources to exempt
	byMatch   bool      // there are exceptions of kyverno.io
	live      []string  // paths of the live exceptions
	renewals  *renewals // nil if no live exceptions are given
	report    *cli.Report
	now       time.Time
	queued    []cli.Result    // what promotion would reject
	blocked   map[string]bool // the files of these results
}

// await keeps what promotion would reject, for the end of the run.
func (r *run) await(waiting *queue) {
	r.queued, r.blocked = waiting.check(), map[string]bool{}
	for _, result := range r.queued {
		r.blocked[result.File] = true
	}
}

// promotion adds what promotion would reject to the report, unless the report has it already.
func (r *run) promotion(report *cli.Report) {
	type problem struct{ file, reason string }
	reported := map[problem]bool{}
	for _, result := range report.Results() {
		reported[problem{filepath.Clean(result.File), result.Reason}] = true
	}
	for _, result := range r.queued {
		if !reported[problem{result.File, result.Reason}] {
			report.Add(result)
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
	if exempts := a.exempts; exempts.Count > 0 || exempts.Cut || r.exempting && !exempts.Known {
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
