package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// AtLeastOnePath is the argument check of a command that reads documents.
func AtLeastOnePath(cmd *cobra.Command, args []string) error {
	if len(args) == 0 && cmd.Flags().NFlag() == 0 {
		usage := strings.ReplaceAll(cmd.UseLine(), " | ", "\n       ")
		fmt.Fprintf(cmd.ErrOrStderr(), "%s\n\nUsage: %s\n\nExamples:\n%s\n\n%s --help describes the flags.\n",
			cmd.Short, usage, cmd.Example, cmd.CommandPath())
		return StatusError(Usage)
	}
	if len(args) == 0 {
		return &UsageError{Err: errors.New("no path is given"),
			Hint: fmt.Sprintf("name files or folders, or - for standard input; see %s --help", cmd.CommandPath())}
	}
	return nil
}

// NoPath is the argument check of a command that accepts no paths.
func NoPath(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		if err := Misspelt(cmd, args); err != nil {
			return err
		}
		return &UsageError{Err: fmt.Errorf("%s accepts no path: %q", cmd.CommandPath(), args[0]),
			Hint: cmd.CommandPath() + " --help says what it reads"}
	}
	return nil
}
