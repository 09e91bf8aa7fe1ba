package audit

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
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
