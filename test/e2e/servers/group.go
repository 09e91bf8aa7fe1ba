package servers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Group is a set of programs that run together.
type Group struct {
	Binaries string // folder of the programs
	Dir      string // for logs, and the programs' working directory

	running, killed []*process
}

// Command is a program with its arguments and further variables. Program is a name in the folder or
// a path.
type Command struct {
	Program string
	Args    []string
	Env     []string
	Dir     string         // working directory; "" for the group's
	As      *Account       // nil for the current user
	End     syscall.Signal // signal to stop it; 0 kills it, since its data is thrown away
	Input   string
}

// Account is a user of the machine.
type Account struct{ UID, GID uint32 }

// Run starts a program. It stops with the context, or with Stop.
func (g *Group) Run(ctx context.Context, c Command) error {
	p, err := g.start(ctx, c)
	if err != nil {
		return err
	}
	g.running = append(g.running, p)
	return nil
}

// Stop stops every program, the last one first.
func (g *Group) Stop() {
	for _, p := range slices.Backward(g.running) {
		p.stop()
	}
	g.running = nil
}

// Close is Stop.
func (g *Group) Close() error {
	g.Stop()
	return nil
}

// Steps runs steps until one fails. Each gets a context for its programs, and one with the timeout
// of the start.
func (g *Group) Steps(ctx context.Context, bound time.Duration, steps ...func(ctx, within context.Context) error) error {
	within, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	for _, step := range steps {
		if err := step(ctx, within); err != nil {
			return fmt.Errorf("%w\n%s", err, g.Logs())
		}
	}
	return nil
}

// Names returns the running programs, in order of start.
func (g *Group) Names() []string {
	var names []string
	for _, p := range g.running {
		names = append(names, p.name)
	}
	return names
}

// PID returns the process ID of a program, or 0 if it does not run.
func (g *Group) PID(name string) int {
	for _, p := range g.running {
		if p.name == name {
			return p.cmd.Process.Pid
		}
	}
	return 0
}

// Logs returns the last lines of every program.
func (g *Group) Logs() string {
	var all strings.Builder
	for _, p := range g.running {
		fmt.Fprintf(&all, "--- the end of %s\n%s\n", p.log, p.tail())
	}
	return all.String()
}

// Until repeats a check until it succeeds. It fails when the context ends or one of the programs
// stops, with the last error.
func (g *Group) Until(ctx context.Context, what string, ask func(context.Context) error) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var err error
	for {
		answer := ask(ctx)
		if answer == nil {
			return nil
		}
		if err == nil || ctx.Err() == nil { // the earlier error says more than a timeout
			err = answer
		}
		for _, p := range g.running {
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
