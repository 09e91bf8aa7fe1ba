package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/plain"
)

// Streams are the inputs and outputs of a command, and its clock.
type Streams struct {
	In  io.Reader
	Out io.Writer // results
	Err io.Writer // everything else
	Now func() time.Time
	// Timing limits the requests and the waits between their tries. It is zero except in tests. It has
	// the fields of internal/retry's Timing: that package would bring net/http into every command.
	Timing struct {
		Answer time.Duration
		Sleep  func(ctx context.Context, d time.Duration) error
	}
}

// Run runs the command that build makes, and returns its exit code.
func Run(ctx context.Context, build func(Streams) *cobra.Command, args []string, streams Streams) int {
	root := build(streams)
	root.SetArgs(args)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SilenceErrors, root.SilenceUsage = true, true
	setHelp(root)
	setVersion(root, streams.Out)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if errors.Is(err, errVersion) {
			writeVersion(streams.Out, root)
			return StatusError(Passed)
		}
		return &UsageError{Err: inFlag(err), Hint: didYouMean(c, err)}
	})

	err := checkReserved(root, args)
	if err == nil {
		err = CheckGiven(root, args)
	}
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	var status StatusError
	switch {
	case err == nil:
		return Passed
	case errors.As(err, &status):
		return int(status)
	}
	name := nameOf(root, args)
	// Git and a joined error have several lines.
	for i, line := range strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }) {
		begin := "    "
		if i == 0 {
			begin = name + ": error: "
		}
		fmt.Fprintln(streams.Err, begin+plain.Line(strings.TrimSpace(line)))
	}
	if hint := hintOf(err); hint != "" {
		fmt.Fprintf(streams.Err, "%s: hint: %s\n", name, plain.Line(asCalled(root)(hint)))
	}
	var usage *UsageError
	if errors.As(err, &usage) {
		return Usage
	}
	return Undecided
}
