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
	rows := 0
	for _, res := range r.Results() {
		if res.silent() {
			continue
		}
		if rows++; rows > maxMarkdownRows {
			continue
		}
		if rows == 1 {
			b.WriteString("\n| where | what | reason |\n| --- | --- | --- |\n")
		}
		where := plain.Markdown(res.File)
		if res.Line > 0 {
			where += fmt.Sprintf(":%d:%d", res.Line, res.Column)
		}
		what := plain.Markdown(res.Message)
		if res.Hint != "" {
			what += "<br>" + plain.Markdown(res.Hint)
		}
		fmt.Fprintf(&b, "| %s | %s%s | %s |\n", where, markdownMark(res.Outcome), what, plain.Markdown(res.Reason))
	}
	if rows > maxMarkdownRows {
		fmt.Fprintf(&b, "\nand %d more\n", rows-maxMarkdownRows)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownMark(o Outcome) string {
	switch o {
	case Warn:
		return "warning: "
	case Unknown:
		return "undecided: "
	default:
		return ""
	}
}
