package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// formats are the values of -o, each with the function that writes it.
var formats = map[string]func(io.Writer, *Report) error{
	"text":     writeText,
	"json":     writeJSON,
	"sarif":    writeSARIF,
	"github":   writeGitHub,
	"markdown": writeMarkdown,
}

// formatNames are their names, in the order of help texts.
var formatNames = []string{"text", "json", "sarif", "github", "markdown"}

// Format is how a command writes its results: in the format of -o, and into the
// file of each --report.
type Format struct {
	name    string // of formats
	reports []reportFile
}

type reportFile struct{ format, path string }

// AddFormatFlag gives a command the flags -o and --report.
func AddFormatFlag(cmd *cobra.Command) *Format {
	format := &Format{name: "text"}
	cmd.Flags().VarP(format, "output-format", "o", "`format` of the results: "+strings.Join(formatNames, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output-format", cobra.FixedCompletions(formatNames, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().Var(reports{format}, "report", "write the results to a file as well, as `format=file`; can be repeated")
	return format
}

// String returns the format's name.
func (f *Format) String() string { return f.name }

// Type names the value in help texts.
func (f *Format) Type() string { return "format" }

// Set takes a format's name.
func (f *Format) Set(name string) error {
	if err := checkFormat(name); err != nil {
		return err
	}
	f.name = name
	return nil
}

func checkFormat(name string) error {
	if formats[name] == nil {
		return fmt.Errorf("%q is not one of %s", name, strings.Join(formatNames, ", "))
	}
	return nil
}

// reports is the value of --report.
type reports struct{ *Format }

// String returns nothing: there is no default to show.
func (reports) String() string { return "" }

// Repeats says that it can be given several times.
func (reports) Repeats() {}

// Set takes a format's name and a file.
func (r reports) Set(value string) error {
	name, path, ok := strings.Cut(value, "=")
	if !ok || path == "" {
		return fmt.Errorf("%q is not written as format=file", value)
	}
	if err := checkFormat(name); err != nil {
		return err
	}
	r.reports = append(r.reports, reportFile{name, path})
	return nil
}

// Writes reports whether the results are written in the format called name.
func (f *Format) Writes(name string) bool {
	return f.name == name || slices.ContainsFunc(f.reports, func(r reportFile) bool { return r.format == name })
}

// ListsPassed reports whether a format names documents that passed without a
// word, too.
func (f *Format) ListsPassed() bool { return f.Writes("json") }

// Write writes the report in the format, and into the files.
func (f *Format) Write(w io.Writer, r *Report) error {
	for _, report := range f.reports {
		var b bytes.Buffer
		if err := formats[report.format](&b, r); err != nil {
			return fmt.Errorf("write results: %w", err)
		}
		if err := WriteFile(report.path, b.Bytes()); err != nil {
			return err
		}
	}
	buffered := bufio.NewWriter(w)
	if err := formats[f.name](buffered, r); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}

// writeText writes file:line:col: message [reason], the hint below it, and a
// last line that sums up.
func writeText(w io.Writer, r *Report) error {
	for _, res := range r.Results() {
		if res.silent() {
			continue
		}
		where := Escape(res.File)
		if res.Line > 0 {
			where += fmt.Sprintf(":%d:%d", res.Line, res.Column)
		}
		if where != "" {
			where += ": "
		}
		if res.Outcome == Warn {
			where += "warning: "
		}
		if _, err := fmt.Fprintf(w, "%s%s [%s]\n", where, Escape(res.Message), res.Reason); err != nil {
			return err
		}
		if res.Hint != "" {
			if _, err := fmt.Fprintf(w, "    hint: %s\n", Escape(res.Hint)); err != nil {
				return err
			}
		}
		if err := writeFacts(w, res.Facts); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, summaryLine(r))
	return err
}

// writeFacts writes a line for each, the values below each other.
func writeFacts(w io.Writer, facts []Fact) error {
	width := 0
	for _, f := range facts {
		width = max(width, len(f.Label))
	}
	for _, f := range facts {
		if _, err := fmt.Fprintf(w, "    %-*s  %s\n", width, f.Label, Escape(f.Value)); err != nil {
			return err
		}
	}
	return nil
}

func summaryLine(r *Report) string {
	if r.Idle != "" && r.Documents == 0 && len(r.counts) == 0 {
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
		parts = append(parts, fmt.Sprintf("%d undecided", n))
	}
	if n := r.Count(Warn); n > 0 {
		parts = append(parts, plural(n, "warning"))
	}
	switch n := r.Count(Pass); {
	case r.Done != "" && n > 0:
		parts = append([]string{fmt.Sprintf("%d %s", n, r.Done)}, parts...)
	case r.Done != "":
	case r.Status() == Passed && r.Idle != "" && n == 0:
		parts = append([]string{r.Idle}, parts...)
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

// writeGitHub writes workflow commands, which GitHub shows as annotations on
// the lines of the pull request.
func writeGitHub(w io.Writer, r *Report) error {
	for _, res := range r.Results() {
		if res.silent() {
			continue
		}
		command := "error"
		switch res.Outcome {
		case Pass:
			command = "notice"
		case Warn:
			command = "warning"
		}
		message := Escape(res.Message) + " [" + res.Reason + "]"
		if res.Hint != "" {
			message += "\n" + Escape(res.Hint)
		}
		if _, err := fmt.Fprintf(w, "::%s file=%s,line=%d,col=%d,title=%s::%s\n", command,
			githubProperty(Escape(res.File)), max(res.Line, 1), max(res.Column, 1), githubProperty(res.Reason), githubData(message)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, summaryLine(r))
	return err
}

// githubData and githubProperty escape as the runner unescapes.
func githubData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func githubProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(githubData(s))
}
