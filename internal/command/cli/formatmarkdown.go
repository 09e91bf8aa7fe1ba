package cli

import (
	"fmt"
	"io"
	"strings"
)

// maxMarkdownRows keeps a summary below the mebibyte that GitHub shows of one.
const maxMarkdownRows = 500

// writeMarkdown writes a table for a job's summary ($GITHUB_STEP_SUMMARY). What
// passed without a word is counted and not listed.
func writeMarkdown(w io.Writer, r *Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n%s\n", MarkdownText(r.Tool), MarkdownText(summaryLine(r)))
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
		where := MarkdownText(res.File)
		if res.Line > 0 {
			where += fmt.Sprintf(":%d:%d", res.Line, res.Column)
		}
		what := MarkdownText(res.Message)
		if res.Hint != "" {
			what += "<br>" + MarkdownText(res.Hint)
		}
		fmt.Fprintf(&b, "| %s | %s%s | %s |\n", where, markdownMark(res.Outcome), what, MarkdownText(res.Reason))
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

// MarkdownText makes hostile text plain in Markdown: every character that could
// begin a link, a tag, a mention or a cell becomes a character reference.
func MarkdownText(text string) string {
	var b strings.Builder
	for _, r := range Escape(text) {
		if strings.ContainsRune("\\`*_{}[]()<>#|&@~!$\"'", r) {
			fmt.Fprintf(&b, "&#%d;", r)
			continue
		}
		b.WriteRune(r)
	}
	// A bare address would become a link.
	return strings.ReplaceAll(b.String(), "://", "&#58;//")
}
