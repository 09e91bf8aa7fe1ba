package main

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/cmd/internal/changed"
	"github.com/polex-dev/polex/cmd/internal/cli"
	"github.com/polex-dev/polex/cmd/internal/shapeconfig"
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

Nothing loosens the checks on what guards exceptions: an exception that matches
PolicyException, a policy called polex-*, or the namespaces kyverno and
polex-system is always refused.

Exits 0 if and only if at least one document was found and every one passed, 1
if one was refused, 2 for a command line or configuration that cannot be meant,
and 3 if one could not be read or there was nothing to check. A warning fails
nothing. With --changed-since, a run that finds only unchanged files exits 0.`

const example = `  # in a pull request, with annotations on its lines
  polex-validate -o github unsigned/

  # only what the pull request touches
  polex-validate --changed-since origin/main unsigned/

  # at most a month, with a ticket
  polex-validate --max-lifetime 30d --require reason,ticket exception.yaml`

func newCommand(streams cli.Streams) *cobra.Command {
	var config, changedSince string
	cmd := &cobra.Command{
		Use:                   "polex-validate [flags] PATH...",
		Short:                 "Check that exceptions are narrow, bounded and accounted for",
		Long:                  help,
		Example:               example,
		DisableFlagsInUseLine: true,
		Args:                  cli.AtLeastOnePath,
	}
	format := cli.AddFormatFlag(cmd)
	cmd.Flags().StringVar(&config, "config", "", "`file` with the configuration (default: "+cli.ConfigName+" of the repository, if there is one)")
	cmd.Flags().StringVar(&changedSince, "changed-since", "", "branch, tag or `commit`: look only at files that have changed since HEAD parted from it")
	shapeconfig.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		cfg, err := cli.LoadRepositoryConfig(config)
		if err != nil {
			return err
		}
		checker, err := shapeconfig.Checker(cfg, cmd.Flags())
		if err != nil {
			return &cli.UsageError{Err: err}
		}
		report := &cli.Report{Tool: "polex-validate", Docs: shapeconfig.Docs()}
		run := run{checker: checker, report: report, now: streams.Now()}
		inputs := cli.Inputs{Paths: paths, Stdin: streams.In, Report: report}
		if changedSince != "" {
			since, err := changed.Open(cmd.Context(), ".", changedSince)
			if err != nil {
				return cli.Hint(err, "fetch the branch and its history; in GitHub Actions, check out with fetch-depth: 0")
			}
			inputs.Changed = since.Changed
		}
		inputs.Each(run.document)
		if err := format.Write(streams.Out, report); err != nil {
			return err
		}
		return report.Err()
	}
	return cmd
}

type run struct {
	checker *shape.Checker
	set     shape.Set
	report  *cli.Report
	now     time.Time
}

// document puts what is wrong with a document on the report, or that nothing
// is.
func (r *run) document(doc *exception.Document) {
	results := shapeconfig.Results(doc, append(r.checker.Check(doc, r.now), r.set.Add(doc)...))
	r.report.Add(results...)
	if !slices.ContainsFunc(results, func(result cli.Result) bool { return result.Outcome == cli.Refuse }) {
		result := cli.ResultFor(doc)
		result.Outcome, result.Reason = cli.Pass, "well-shaped"
		r.report.Add(result)
	}
}
