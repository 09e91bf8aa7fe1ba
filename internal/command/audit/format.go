package audit

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/report"
)

func addFormatFlag(cmd *cobra.Command) *cli.Output[*report.Report] {
	return cli.AddOutputFlags(cmd, "audit report", []cli.Writer[*report.Report]{
		{Name: "table", Write: table}, {Name: "json", Write: report.JSON}, {Name: "csv", Write: report.CSV},
		{Name: "markdown", Write: report.Markdown}, {Name: "html", Write: report.HTML},
		{Name: "prometheus", Write: report.Prometheus},
	})
}

// table fits the table into a terminal, and cuts nothing in a file.
func table(w io.Writer, v *report.Report) error {
	fitting := *v
	fitting.Width = cli.TerminalWidth(w)
	return report.Table(w, &fitting)
}

// report makes the report with the settings of the command line.
func (r *run) report(l *ledger.Ledger) *report.Report {
	v := report.New(l, r.fails)
	v.Version, v.Revision, v.All = cli.VersionText(), r.ref, r.all
	v.MadeAt, v.Repository = r.now, l.Repository(r.git)
	v.Trust = report.Trust{Digest: r.policy.Digest(), Root: r.policy.Root().Digest(), Threshold: r.policy.Threshold()}
	for _, a := range r.policy.Authorities() {
		v.Trust.Signers = append(v.Trust.Signers, report.Signer{Name: a.Name(), Identity: a.String()})
	}
	switch {
	case !v.Whole(r.allowShallow) || r.undecided():
		v.Status = cli.Undecided
	case len(v.Failed) > 0:
		v.Status = cli.Refused
	}
	return v
}
