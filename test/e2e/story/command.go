package story

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
)

// Said is the result of a command.
type Said struct {
	Status      int
	Out, Errors string
}

// Polex runs one of polex's commands in a user's clone of the repository. An error means that it
// could not run.
func (w *World) Polex(ctx context.Context, command string, args ...string) (*Said, error) {
	ctx, cancel := context.WithTimeout(ctx, WaitLimit)
	defer cancel()
	c := w.Exceptions.Command(ctx, filepath.Join(w.runner.Commands, command), args...)
	var out, errs strings.Builder
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	var status *exec.ExitError
	if errors.As(err, &status) && ctx.Err() == nil {
		err = nil
	}
	if err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	return &Said{c.ProcessState.ExitCode(), out.String(), errs.String()}, nil
}
