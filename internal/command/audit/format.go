package audit

import (
	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/report"
)

func addFormatFlag(cmd *cobra.Command) *cli.Output[*report.Report] {
	return cli.AddOutputFlags(cmd, "ledger", []cli.Writer[*report.Report]{
		{Name: "table", Write: report.Table}, {Name: "json", Write: report.JSON}, {Name: "csv", Write: report.CSV},
		{Name: "markdown", Write: report.Markdown}, {Name: "html", Write: report.HTML}, {Name: "prometheus", Write: report.Prometheus},
	})
}
