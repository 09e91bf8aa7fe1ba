package adopt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/adopt"
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

// reasonAdopted is the reason of an adopted exception.
const reasonAdopted = "adopted"

// reasons are the reasons of the plan itself. The reasons of the checks are added to them.
var reasons = []exception.Reason{
	{Name: reasonAdopted, Doc: "the exception moves to the folder of pending exceptions",
		Severity: exception.SeverityNote},
	{Name: adopt.ReasonTemplate, Doc: "a template has to be rendered before it is adopted"},
	{Name: adopt.ReasonUnreadable, Doc: "the document cannot be read"},
	{Name: adopt.ReasonNotRendered, Doc: "another tool may change the exception on its way to the cluster"},
	{Name: adopt.ReasonNotDeployed, Doc: "the exception is not deployed, and stays where it is",
		Severity: exception.SeverityWarning},
	{Name: adopt.ReasonNoNamespace, Doc: "the namespace of the deployed exception is not known"},
	{Name: adopt.ReasonSeveral, Doc: "the exception is deployed in several forms"},
	{Name: adopt.ReasonExists, Doc: "the file exists with different content"},
}

// report prints the plan.
func (o *options) report(format *cli.Format, streams cli.Streams, plan *adopt.Plan) error {
	report := &cli.Report{Tool: "polex adopt", Reasons: slices.Concat(reasons, shape.Reasons()),
		Documents: len(plan.Adopted) + len(plan.Problems),
		Idle:      "no exceptions to adopt", Done: "adopted", Edits: plan.Edits, Notes: plan.Notes}
	if o.dryRun {
		report.Done = "would be adopted"
	}
	for _, a := range plan.Adopted {
		stated := ""
		if a.Stated {
			stated = " as stated"
		}
		result := cli.Result{Outcome: cli.Pass, File: a.File, Line: a.Line, Column: 1, Object: a.Identity,
			Reason:  reasonAdopted,
			Message: fmt.Sprintf("to %s, expires at %s%s", a.To, plain.Time(a.ExpiresAt), stated),
			Details: map[string]any{"to": a.To, "expiresAt": plain.Time(a.ExpiresAt),
				"stated": a.Stated}}
		if len(a.Notes) > 0 {
			result.Message += "; " + strings.Join(a.Notes, "; ")
		}
		report.Add(result)
	}
	for _, p := range plan.Problems {
		outcome := cli.Refuse
		if p.Reason == adopt.ReasonNotDeployed {
			outcome = cli.Warn
		}
		report.Add(cli.Result{Outcome: outcome, File: p.File, Line: max(p.Line, 1), Column: 1, Object: p.Object,
			Reason: p.Reason, Message: p.Message, Hint: p.Hint})
	}
	if err := format.Write(streams.Out, report); err != nil {
		return err
	}
	for _, line := range plan.Edits {
		_, _ = fmt.Fprintln(streams.Err, "edit: "+plain.Line(line))
	}
	for _, line := range plan.Notes {
		_, _ = fmt.Fprintln(streams.Err, "note: "+plain.Line(line))
	}
	text := "%s written and %d removed; review with git status, then commit\n"
	if o.dryRun {
		text = "%s would be written and %d removed; nothing was changed\n"
	}
	if written, removed := len(plan.Write), len(plan.Remove); written+removed > 0 {
		_, _ = fmt.Fprintf(streams.Err, text, plain.Count(written, "file", "files"), removed)
	}
	return report.Err()
}
