package audit

import (
	"bytes"
	"io"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/report"
)

func addFormatFlag(cmd *cobra.Command) *cli.Output[*report.Report] {
	return cli.AddOutputFlags(cmd, "audit report", []cli.Writer[*report.Report]{
		{Name: "table", Write: table}, {Name: "json", Write: report.JSON}, {Name: "csv", Write: report.CSV},
		{Name: "markdown", Write: report.Markdown}, {Name: "html", Write: report.HTML}, {Name: "prometheus", Write: report.Prometheus},
	})
}

// table cuts nothing in a file, whose content is made in a buffer.
func table(w io.Writer, v *report.Report) error {
	if _, file := w.(*bytes.Buffer); file {
		whole := *v
		whole.Terminal = false
		v = &whole
	}
	return report.Table(w, v)
}
