package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// Streams is everything that a command takes from outside.
type Streams struct {
	In  io.Reader
	Out io.Writer // results
	Err io.Writer // everything else
	Now func() time.Time
}

// Run runs the command that build makes and returns its exit status.
func Run(ctx context.Context, build func(Streams) *cobra.Command, args []string, streams Streams) int {
	cmd := build(streams)
	cmd.SetArgs(args)
	cmd.SetIn(streams.In)
	cmd.SetOut(streams.Out)
	cmd.SetErr(streams.Err)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.Version = VersionText()
	cmd.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &UsageError{Err: err, Hint: fmt.Sprintf("run %s --help", c.CommandPath())}
	})

	err := CheckGiven(cmd, args)
	if err == nil {
		err = cmd.ExecuteContext(ctx)
	}
	var status StatusError
	switch {
	case err == nil:
		return Passed
	case errors.As(err, &status):
		return int(status)
	}
	fmt.Fprintf(streams.Err, "%s: error: %s\n", cmd.Name(), Escape(err.Error()))
	if hint := hintOf(err); hint != "" {
		fmt.Fprintf(streams.Err, "%s: hint: %s\n", cmd.Name(), Escape(hint))
	}
	var usage *UsageError
	if errors.As(err, &usage) {
		return Usage
	}
	return Undecided
}
