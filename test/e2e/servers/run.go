package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// waitLimit is the timeout for the end of a program after its signal.
const waitLimit = 10 * time.Second

// command prepares a program, which stops with the context.
func (g *Group) command(ctx context.Context, c Command) (*exec.Cmd, error) {
	if !filepath.IsAbs(c.Program) {
		c.Program = filepath.Join(g.Binaries, c.Program)
	}
	if c.Dir == "" {
		c.Dir = g.Dir
	}
	if c.End == 0 {
		c.End = syscall.SIGKILL
	}
	cmd := exec.CommandContext(ctx, c.Program, c.Args...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Dir = c.Dir
	cmd.Cancel = func() error { return cmd.Process.Signal(c.End) }
	cmd.WaitDelay = waitLimit
	if c.Input != "" {
		cmd.Stdin = strings.NewReader(c.Input)
	}
	return cmd, dieWithParent(cmd, c)
}

// Output runs a program to its end, and returns its standard output. Its error output is in the
// error.
func (g *Group) Output(ctx context.Context, c Command) ([]byte, error) {
	cmd, err := g.command(ctx, c)
	if err != nil {
		return nil, err
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s: %w\n%s%s", filepath.Base(cmd.Path), err, out, &stderr)
	}
	return out, nil
}

// Finish runs a program to its end.
func (g *Group) Finish(ctx context.Context, c Command) error {
	_, err := g.Output(ctx, c)
	return err
}
