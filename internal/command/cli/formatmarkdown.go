package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/polex-dev/polex/internal/plain"
)

// maxMarkdownRows keeps a summary below GitHub's limit of 1 MiB.
const maxMarkdownRows = 500

// writeMarkdown writes a table for a job summary ($GITHUB_STEP_SUMMARY). Passed documents without a
// message are only counted.
func writeMarkdown(w io.Writer, r *Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n%s\n", plain.Markdown(r.Tool), plain.Markdown(summaryLine(r)))
	if r.Remark != "" {
		fmt.Fprintf(&b, "\n%s\n", plain.Markdown(r.Remark))
	}
	rows := r.shown()
	if len(rows) > 0 {
		b.WriteString("\n| where | what | reason |\n| --- | --- | --- |\n")
	}
	for _, res := range rows[:min(len(rows), maxMarkdownRows)] {
		where, what := plain.Markdown(res.File), plain.Markdown(res.Message)
		if res.Line > 0 {
			where += fmt.Sprintf(":%d:%d", res.Line, res.Column)
		}
		if res.Hint != "" {
			what += "<br>" + plain.Markdown(res.Hint)
		}
		mark := map[Outcome]string{Warn: "warning: ", Unknown: "undecided: "}[res.Outcome]
		fmt.Fprintf(&b, "| %s | %s%s | %s |\n", where, mark, what, plain.Markdown(res.Reason))
	}
	if more := len(rows) - maxMarkdownRows; more > 0 {
		fmt.Fprintf(&b, "\nand %d more\n", more)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
