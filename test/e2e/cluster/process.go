package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// process is a program that runs until it is stopped, its output in a file.
type process struct {
	name   string
	log    string
	cancel context.CancelFunc
	ended  chan struct{}
	err    error // once ended is closed
}

// command is what to run: a program's path, its arguments, and variables on top
// of this process's own.
type command struct {
	path string
	args []string
	env  []string
}

// start runs a program with its output in dir/NAME.log. It ends with the
// context, or with stop.
func start(ctx context.Context, dir string, c command) (*process, error) {
	name := filepath.Base(c.path)
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, c.path, c.args...)
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = log, log
	dieWithParent(cmd)
	p := &process{name: name, log: log.Name(), cancel: cancel, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		// What dies with its parent dies with the thread that started it.
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
		return nil, fmt.Errorf("start %s: %w (built by `make e2e`)", c.path, err)
	}
	return p, nil
}

// stop kills: what the servers of a test would save is thrown away with it.
func (p *process) stop() {
	p.cancel()
	<-p.ended
}

// dead returns an error once the process has ended by itself.
func (p *process) dead() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s ended: %w", p.name, errors.Join(p.err, errors.New(p.tail())))
	default:
		return nil
	}
}

// tail is the end of what the process has said.
func (p *process) tail() string {
	const most = 40
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}

// until asks again and again whether something is there yet. It gives up when
// the context ends or one of the processes does, with the last answer.
func until(ctx context.Context, what string, processes []*process, ask func(context.Context) error) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		for _, p := range processes {
			if dead := p.dead(); dead != nil {
				return fmt.Errorf("wait for %s: %w", what, dead)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w; the last answer: %w", what, ctx.Err(), err)
		case <-tick.C:
		}
	}
}
