package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/plain"
)

// Format is the output format of a report.
type Format = Output[*Report]

// AddFormatFlag adds the flags -o and --report.
func AddFormatFlag(cmd *cobra.Command) *Format {
	return AddOutputFlags(cmd, "results", []Writer[*Report]{
		{"text", writeText}, {"json", writeJSON}, {"sarif", writeSARIF}, {"github", writeGitHub},
		{"markdown", writeMarkdown},
	})
}

// Finish writes a report and returns its exit code as an error, or nil.
func Finish(format *Format, w io.Writer, report *Report) error {
	if err := format.Write(w, report); err != nil {
		return err
	}
	return report.Err()
}

// writeText writes a line "file:line:col: message [reason]" per result, the hint and the facts below it, and a
// summary. The writers are buffered, so the last line returns every error.
func writeText(w io.Writer, r *Report) error {
	paint := painter(w)
	for _, res := range r.shown() {
		where, style := plain.Line(res.File), red
		if res.Line > 0 {
			where += fmt.Sprintf(":%d:%d", res.Line, res.Column)
		}
		if where != "" {
			where = paint(bold, where+": ")
		}
		switch res.Outcome {
		case Warn:
			where, style = where+paint(yellow, "warning: "), yellow
		case Pass:
			style = green
		}
		fmt.Fprintf(w, "%s%s %s\n", where, plain.Line(res.Message), paint(style, "["+res.Reason+"]"))
		if res.Hint != "" {
			fmt.Fprintf(w, "    %s %s\n", paint(cyan, "hint:"), plain.Line(res.Hint))
		}
		width := 0
		for _, f := range res.Facts {
			width = max(width, len(f.Label))
		}
		for _, f := range res.Facts {
			fmt.Fprintf(w, "    %-*s  %s\n", width, f.Label, plain.Line(f.Value))
		}
	}
	_, err := fmt.Fprintln(w, summaryLine(r)+remark(r))
	return err
}

func summaryLine(r *Report) string {
	line := summary(r)
	if r.Skipped > 0 {
		line += ", skipped " + plural(r.Skipped, "file") + " of other kinds"
	}
	return line
}

// remark returns the remark as a line, or "".
func remark(r *Report) string {
	if r.Remark == "" {
		return ""
	}
	return "\n" + plain.Line(r.Remark)
}

func summary(r *Report) string {
	idle := r.Idle != "" && r.Unchanged == 0
	if idle && r.Documents == 0 && len(r.counts) == 0 {
		return r.Idle
	}
	line := plural(r.Documents, "document")
	if r.Source != nil {
		line += fmt.Sprintf(" of commit %.12s", r.Source.Commit)
	}
	if r.Unchanged > 0 {
		line += " (and " + plural(r.Unchanged, "unchanged file") + ")"
	}
	var parts []string
	if n := r.Count(Refuse); n > 0 {
		parts = append(parts, plural(n, "refusal"))
	}
	if n := r.Count(Unknown); n > 0 {
		parts = append(parts, fmt.Sprintf("%d could not be checked", n))
	}
	if n := r.Count(Warn); n > 0 {
		parts = append(parts, plural(n, "warning"))
	}
	switch n := r.Count(Pass) - r.Aside; {
	case r.Status() == Passed && idle && n == 0:
		parts = append([]string{r.Idle}, parts...)
	case r.Done != "" && n > 0:
		parts = append([]string{fmt.Sprintf("%d %s", n, r.Done)}, parts...)
	case r.Done != "":
	case r.Status() == Passed:
		parts = append([]string{"all passed"}, parts...)
	}
	if len(parts) == 0 {
		return line + " checked"
	}
	return line + ": " + strings.Join(parts, ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// writeGitHub writes workflow commands. GitHub shows them as annotations in the pull request.
func writeGitHub(w io.Writer, r *Report) error {
	for _, res := range r.shown() {
		command := "error"
		switch res.Outcome {
		case Pass:
			command = "notice"
		case Warn:
			command = "warning"
		}
		message := plain.Line(res.Message) + " [" + res.Reason + "]"
		if res.Hint != "" {
			message += "\n" + plain.Line(res.Hint)
		}
		fmt.Fprintf(w, "::%s file=%s,line=%d,col=%d,title=%s::%s\n", command, githubProperty(plain.Line(res.File)),
			max(res.Line, 1), max(res.Column, 1), githubProperty(res.Reason), githubData(message))
	}
	_, err := fmt.Fprintln(w, summaryLine(r)+remark(r))
	return err
}

// githubData and githubProperty escape text for the workflow runner.
func githubData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func githubProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(githubData(s))
}

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
