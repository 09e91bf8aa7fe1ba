package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// process is a program that runs until it is stopped, with its output in a file.
type process struct {
	name   string
	log    string
	told   Command // to run it again
	cmd    *exec.Cmd
	cancel context.CancelFunc
	ended  chan struct{}
	err    error // set when ended is closed
}

// start runs a program with its output in NAME.log. It stops with the context, or with stop.
func (g *Group) start(ctx context.Context, c Command) (*process, error) {
	name := filepath.Base(c.Program)
	log, err := os.Create(filepath.Join(g.Dir, name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	ctx, cancel := context.WithCancel(ctx)
	cmd, err := g.command(ctx, c)
	if err != nil {
		cancel()
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	p := &process{name: name, log: log.Name(), told: c, cmd: cmd, cancel: cancel, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		// A process with a parent-death signal ends with the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		cancel()
		return nil, fmt.Errorf("start %s: %w (built by `make e2e`)", c.Program, err)
	}
	return p, nil
}

// stop stops the process and waits for its end.
func (p *process) stop() {
	p.cancel()
	<-p.ended
}

// dead returns an error if the process has ended by itself.
func (p *process) dead() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s ended: %w", p.name, errors.Join(p.err, errors.New(p.tail())))
	default:
		return nil
	}
}

// tail returns the last lines of the process' output.
func (p *process) tail() string {
	const most = 40
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
