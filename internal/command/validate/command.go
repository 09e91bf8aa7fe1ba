// Package validate is the command polex-validate. It checks exceptions before the review.
package validate

import (
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/changed"
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/parallel"
	"github.com/polex-dev/polex/internal/command/shapeconfig"
	"github.com/polex-dev/polex/internal/promote/pending"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

const help = `Check that exceptions are well shaped before anybody reviews or signs them: that
the API server keeps them as they are written, that they say which resources and
rules they are for, that they end, that they say what the configuration asks for,
and that they do not reach what guards them.

PATH is a file, a folder (every .yaml, .yml and .json below it) or - for
standard input. Without --config, the .polex.yaml of the repository that the
working directory lies in is used, if there is one. A flag wins over it.

Without PATH, it is the folder of pending exceptions (directories.unsigned, or
unsigned/), which may be empty or missing.

Where PATH is in the folder of pending exceptions, every file there is held to the
rules of polex-sign --promote as well: a file that could not be promoted is refused
here, before it stops others. Files there that hold documents of other kinds alone,
such as a kustomization.yaml, are skipped and counted; --skip-other-kinds skips them
elsewhere, too. A file with a list, with an exception, with a kind that the trust
policy lists (kinds), or that cannot be read is never skipped, and neither is any in
signed/.

With --split, a file that holds several documents or a list is replaced by one file
for each: exceptions.yaml by exceptions-1.yaml and so on. No file is overwritten.

Nothing loosens the checks on what guards exceptions: an exception that matches
PolicyException, a policy called polex-*, or the namespaces kyverno and
polex-system is always refused.

Exits 0 if and only if at least one document was found and every one passed, 1
if one was refused, 2 for a command line or configuration that cannot be meant,
and 3 if one could not be read or there was nothing to check. A warning fails
nothing. A run that finds only files that are unchanged (--changed-since) or skipped
exits 0.`

const example = `  # in a pull request, with annotations on its lines
  polex-validate -o github unsigned/

  # only what the pull request touches
  polex-validate --changed-since origin/main unsigned/

  # do the policies exist, what would be exempt, and what is live already?
  polex-validate --policies policies/ --resources apps/ --signed signed/ unsigned/

  # write them for the Kyverno that no longer reads kyverno.io exceptions
  polex-validate --fix --policies policies/ --whole-policy unsigned/mongo.yaml

  # one file for each exception of a list
  polex-validate --split unsigned/exceptions.yaml

  # at most a month, with a ticket
  polex-validate --max-lifetime 30d --require reason,ticket exception.yaml`

// New makes the command.
func New(streams cli.Streams) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:                   "polex-validate [flags] [PATH...]",
		Short:                 "Check that exceptions are narrow, bounded and accounted for",
		Long:                  help,
		Example:               example,
		DisableFlagsInUseLine: true,
	}
	format := cli.AddFormatFlag(cmd)
	flags := cmd.Flags()
	cli.AddConfigFlag(flags, &o.config)
	flags.StringVar(&o.changedSince, "changed-since", "", "branch, tag or `commit`: look only at files that have changed since HEAD parted from it")
	flags.BoolVar(&o.skipOtherKinds, "skip-other-kinds", false, "skip files that hold documents of other kinds alone, and count them (always so in the folder of pending exceptions, never in the signed one)")
	shapeconfig.AddFlags(cmd)
	o.around.addFlags(cmd)
	flags.BoolVar(&o.split, "split", false, "replace each file that holds several documents or a list by one file for each of them, such as web-1.yaml, instead of checking")
	flags.BoolVar(&o.fix, "fix", false, "print the policies.kyverno.io form of kyverno.io exceptions, where one exempts just the same, instead of checking")
	flags.BoolVar(&o.wholePolicy, "whole-policy", false, "with --fix: exempt from whole policies, since the new form has no rules")
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		if o.wholePolicy && !o.fix {
			return cli.Usagef("--whole-policy goes with --fix")
		}
		if o.split && (o.fix || o.changedSince != "") {
			return cli.Usagef("--split does not go with --fix or --changed-since")
		}
		if o.skipOtherKinds && o.fix {
			return cli.Usagef("--skip-other-kinds does not go with --fix, which prints every document")
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
		report := &cli.Report{Tool: "polex-validate", Reasons: reasons(config), CountPassed: !format.Writes("json")}
		repository, err := openRepository(cfg)
		if err != nil {
			return err
		}
		if len(paths) == 0 {
			report.Idle = cli.NothingPending
			if paths, err = repository.defaultPaths(); err != nil {
				return err
			}
		}
		inputs := cli.Inputs{Paths: paths, Stdin: streams.In, Report: report}
		if o.split {
			inputs.Skip = func(path string) bool { return repository.skips(path, true) }
			return split(inputs, format, streams)
		}
		var since *changed.Since
		if o.changedSince != "" {
			if since, err = changed.Open(cmd.Context(), ".", o.changedSince); err != nil {
				return cli.Hint(err, "fetch the branch and its history; in GitHub Actions, check out with fetch-depth: 0")
			}
			inputs.Changed = since.Changed
		}
		run := &run{report: report, now: streams.Now()}
		var waiting *queue
		if !o.fix {
			inputs.Skip = func(path string) bool { return repository.skips(path, o.skipOtherKinds) }
			if waiting, err = openQueue(cmd.Context(), repository, cfg, paths, since); err != nil {
				return err
			}
		}
		if err := o.around.read(run, waiting, since, cfg, &config); err != nil {
			return err
		}
		if run.checker, err = shapeconfig.Checker(config); err != nil {
			return err
		}
		if o.fix {
			fix := &fixer{policies: run.policies, wholePolicy: o.wholePolicy, report: report}
			inputs.Each(fix.document)
			return fix.finish(format, streams)
		}
		parallel.Ordered[*exception.Document, answer]{Workers: runtime.GOMAXPROCS(0), Work: run.check, Done: run.settle}.Each(inputs.Each)
		run.renewals.settle(report, cli.Documents(run.live, &cli.Report{}, cli.Warn)) // they are on the report already
		if waiting != nil {
			waiting.check(report)
		}
		return cli.Finish(format, streams.Out, report)
	}
	return cmd
}

// The reasons that only this command has.
const (
	reasonWellShaped    = "well-shaped"
	reasonNoCounterpart = "no-counterpart" // with --fix, and so are the next two
	reasonTranslated    = "translated"
	reasonNotWritten    = "not-written"
	reasonSplit         = "split" // with --split, and so is the next one
	reasonFileExists    = "file-exists"
)

func reasons(config shape.Config) []exception.Reason {
	return slices.Concat(shapeconfig.Reasons(config), pending.Reasons(), []exception.Reason{
		{Name: reasonWellShaped, Doc: "the exception passes every check", Severity: exception.SeverityNote},
		{Name: reasonApproversUnknown, Doc: "a renewal requires another approver, and the approvers of the predecessor are unknown"},
		{Name: reasonNoCounterpart, Doc: "no exception of policies.kyverno.io exempts the same"},
		{Name: reasonTranslated, Doc: "the exception is printed in the form of policies.kyverno.io", Severity: exception.SeverityNote},
		{Name: reasonSplit, Doc: "the file holds one document of a file that held several", Severity: exception.SeverityNote},
		{Name: reasonFileExists, Doc: "with --split: another file has the name that a document's file would have"},
		{Name: reasonNotWritten, Doc: "an internal error: the exception cannot be printed"},
	})
}

type options struct {
	config, changedSince string
	skipOtherKinds       bool
	split                bool
	around               surroundings
	fix, wholePolicy     bool
}

type run struct {
	checker  *shape.Checker
	policies *shape.PolicySet // nil if none are given
	set      shape.Set
	live     []string  // paths of the live exceptions
	renewals *renewals // nil if no live exceptions are given
	report   *cli.Report
	now      time.Time
}

// answer is the result of the checks of a single document.
type answer struct {
	found   []shape.Finding
	exempts shape.Exemption
}

// check runs for several documents in parallel.
func (r *run) check(doc *exception.Document) answer {
	a := answer{found: r.checker.Check(doc, r.now)}
	if !slices.ContainsFunc(a.found, func(f shape.Finding) bool { return f.Severity == shape.Error }) {
		a.exempts = r.checker.Exempted(doc)
	}
	return a
}

// settle adds the problems of a document to the report: its own, and those in combination with
// earlier documents. Without errors, it adds the exempted resources. It runs for one document at a
// time.
func (r *run) settle(doc *exception.Document, a answer) {
	results := shapeconfig.Results(doc, append(a.found, r.checker.Weigh(r.set.Add(doc))...))
	r.report.Add(results...)
	if slices.ContainsFunc(results, func(result cli.Result) bool { return result.Outcome == cli.Refuse }) {
		return
	}
	result := cli.ResultFor(doc)
	result.Outcome, result.Reason = cli.Pass, reasonWellShaped
	if exempts := a.exempts; exempts.Count > 0 || exempts.Cut {
		result.Message = "would exempt " + shapeconfig.Exempted(exempts)
		if len(exempts.Assumed) > 0 {
			result.Message += ", assuming " + strings.Join(exempts.Assumed, ", and ")
		}
		result.Details = map[string]any{"exempts": shapeconfig.Names(exempts.Resources), "count": exempts.Count, "assumed": exempts.Assumed}
	}
	if !r.renewals.keep(doc, result) {
		r.report.Add(result)
	}
}
