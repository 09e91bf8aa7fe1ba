package audit

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
)

// formats are the values of -o, each with what writes it.
var formats = map[string]func(io.Writer, *view) error{
	"table":      writeTable,
	"json":       writeJSON,
	"csv":        writeCSV,
	"markdown":   writeMarkdown,
	"html":       writeHTML,
	"prometheus": writePrometheus,
}

var formatNames = []string{"table", "json", "csv", "markdown", "html", "prometheus"}

// format is the value of -o.
type format struct {
	name  string
	files []file
}

type file struct{ format, path string }

func addFormatFlag(cmd *cobra.Command) *format {
	f := &format{name: "table"}
	cmd.Flags().VarP(f, "output-format", "o", "`format` of the ledger: "+strings.Join(formatNames, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output-format", cobra.FixedCompletions(formatNames, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().Var(reports{f}, "report", "write the ledger to a file as well, as `format=file`; can be repeated")
	return f
}

// String returns the format's name.
func (f *format) String() string { return f.name }

// Type names the value in help texts.
func (f *format) Type() string { return "format" }

// Set takes a format's name.
func (f *format) Set(name string) error {
	if formats[name] == nil {
		return fmt.Errorf("%q is not one of %s", name, strings.Join(formatNames, ", "))
	}
	f.name = name
	return nil
}

// reports is the value of --report.
type reports struct{ *format }

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
	if formats[name] == nil {
		return fmt.Errorf("%q is not one of %s", name, strings.Join(formatNames, ", "))
	}
	r.files = append(r.files, file{name, path})
	return nil
}

// write writes the ledger, and the files.
func (f *format) write(w io.Writer, v *view) error {
	for _, to := range f.files {
		var b bytes.Buffer
		if err := formats[to.format](&b, v); err != nil {
			return fmt.Errorf("write %s: %w", to.format, err)
		}
		if err := cli.WriteFile(to.path, b.Bytes()); err != nil {
			return err
		}
	}
	buffered := bufio.NewWriter(w)
	if err := formats[f.name](buffered, v); err != nil {
		return fmt.Errorf("write %s: %w", f.name, err)
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("write %s: %w", f.name, err)
	}
	return nil
}
