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

// Writer writes a T in a named format.
type Writer[T any] struct {
	Name  string
	Write func(io.Writer, T) error
}

// Output holds the output formats of a command: the one of -o, and one per --report file.
type Output[T any] struct {
	what    string // name of the output in help texts
	writers []Writer[T]
	chosen  Writer[T]
	files   []file[T]
}

type file[T any] struct {
	Writer[T]
	path string
}

// AddOutputFlags adds the flags -o and --report. The first writer is the default of -o.
func AddOutputFlags[T any](cmd *cobra.Command, what string, writers []Writer[T]) *Output[T] {
	o := &Output[T]{what: what, writers: writers, chosen: writers[0]}
	cmd.Flags().VarP(o, "output", "o", "`format` of the "+what+": "+strings.Join(o.names(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(o.names(), cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().Var(reports[T]{o}, "report", "also write the "+what+" to a file; can be repeated: `format=file`")
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		paths := make([]string, len(o.files))
		for i, f := range o.files {
			paths[i] = f.path
		}
		return checkOutputs(cmd, args, paths)
	}
	return o
}

func (o *Output[T]) names() []string {
	names := make([]string, len(o.writers))
	for i, w := range o.writers {
		names[i] = w.Name
	}
	return names
}

func (o *Output[T]) named(name string) (Writer[T], error) {
	i := slices.Index(o.names(), name)
	if i < 0 {
		return Writer[T]{}, fmt.Errorf("%q is not one of %s", name, strings.Join(o.names(), ", "))
	}
	return o.writers[i], nil
}

// String returns the name of the format.
func (o *Output[T]) String() string { return o.chosen.Name }

// Type names the value in help texts.
func (o *Output[T]) Type() string { return "format" }

// Set selects a format by name.
func (o *Output[T]) Set(name string) (err error) {
	o.chosen, err = o.named(name)
	return err
}

// reports is the value of --report.
type reports[T any] struct{ *Output[T] }

// String returns nothing, because there is no default.
func (reports[T]) String() string { return "" }

// Repeats marks the flag as repeatable.
func (reports[T]) Repeats() {}

// Set adds a format and a file.
func (r reports[T]) Set(value string) error {
	name, path, ok := strings.Cut(value, "=")
	if !ok || path == "" {
		return fmt.Errorf("%q is not written as format=file", value)
	}
	w, err := r.named(name)
	r.files = append(r.files, file[T]{w, path})
	return err
}

// Writes reports whether the output is written in a format.
func (o *Output[T]) Writes(name string) bool {
	return o.chosen.Name == name || slices.ContainsFunc(o.files, func(f file[T]) bool { return f.Name == name })
}

// Write writes v in the selected format and to the files.
func (o *Output[T]) Write(w io.Writer, v T) error {
	for _, f := range o.files {
		var b bytes.Buffer
		if err := f.Write(&b, v); err != nil {
			return fmt.Errorf("write %s: %w", o.what, err)
		}
		if r, ok := any(v).(*Report); ok && r.holds(f.path) {
			return fmt.Errorf("write %s: %s holds documents of this run, and was not replaced", o.what, f.path)
		}
		if err := WriteFile(f.path, b.Bytes()); err != nil {
			return err
		}
	}
	buffered := bufio.NewWriter(w)
	err := o.chosen.Write(screen{buffered, IsTerminal(w), TerminalWidth(w)}, v)
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", o.what, err)
	}
	return nil
}
