package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/cmd/internal/cli"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

const help = `Check that exceptions are well shaped before anybody reviews or signs them: that
the API server keeps them as they are written, that they say which resources and
rules they are for, that they end, that they say why they exist, and that they
do not reach what guards them.

PATH is a file, a folder (every .yaml, .yml and .json below it) or - for
standard input. Without --config, the .polex.yaml of the repository that the
working directory lies in is used, if there is one. A flag wins over it.

Nothing loosens the checks on what guards exceptions: an exception that matches
PolicyException, a policy called polex-*, or the namespaces kyverno and
polex-system is always refused.

Exits 0 if and only if at least one document was found and every one passed, 1
if one was refused, 2 for a command line or configuration that cannot be meant,
and 3 if one could not be read or there was nothing to check. A warning fails
nothing.`

const example = `  # in a pull request, with annotations on its lines
  polex-validate -o github unsigned/

  # at most a month, with a ticket
  polex-validate --max-lifetime 30d --require reason,ticket exception.yaml`

func newCommand(streams cli.Streams) *cobra.Command {
	var set settings
	cmd := &cobra.Command{
		Use:                   "polex-validate [flags] PATH...",
		Short:                 "Check that exceptions are narrow, bounded and accounted for",
		Long:                  help,
		Example:               example,
		DisableFlagsInUseLine: true,
		Args:                  cli.AtLeastOnePath,
	}
	format := cli.AddFormatFlag(cmd)
	set.addFlags(cmd)
	cmd.RunE = func(_ *cobra.Command, paths []string) error {
		config, err := set.load(cmd)
		if err != nil {
			return err
		}
		checker, err := shape.New(config)
		if err != nil {
			return &cli.UsageError{Err: err}
		}
		report := &cli.Report{Tool: "polex-validate"}
		run := run{checker: checker, report: report, now: streams.Now()}
		cli.Inputs{Paths: paths, Stdin: streams.In, Report: report}.Each(run.document)
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
	passed := true
	for _, f := range append(r.checker.Check(doc, r.now), r.set.Add(doc)...) {
		result := cli.ResultFor(doc)
		result.Outcome = cli.Refuse
		if f.Severity == shape.Warning {
			result.Outcome = cli.Warn
		}
		passed = passed && result.Outcome == cli.Warn
		result.Line, result.Column = f.Position.Line, f.Position.Column
		result.Reason, result.Message, result.Hint = f.Reason, f.Message, f.Hint
		result.Path = f.Path.String()
		r.report.Add(result)
	}
	if passed {
		result := cli.ResultFor(doc)
		result.Outcome, result.Reason = cli.Pass, "well-shaped"
		r.report.Add(result)
	}
}
