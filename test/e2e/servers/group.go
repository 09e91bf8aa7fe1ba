package servers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Group is a number of programs that run together.
type Group struct {
	Binaries string // folder of the programs
	Dir      string // for logs, and where the programs run

	running []*process
}

// Command is what to run: a program's name in the folder or its path, its
// arguments, and variables on top of this process's own.
type Command struct {
	Program string
	Args    []string
	Env     []string
	Dir     string         // where it runs; "" for the group's
	As      *Account       // nil for who runs the test
	End     syscall.Signal // what ends it; 0 kills, for what it would save is thrown away with it
	Input   string
}

// Account is a user of the machine.
type Account struct{ UID, GID uint32 }

// Run starts a program. It ends with the context, or with Stop.
func (g *Group) Run(ctx context.Context, c Command) error {
	p, err := g.start(ctx, c)
	if err != nil {
		return err
	}
	g.running = append(g.running, p)
	return nil
}

// Stop ends every program, the last one first.
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

// Steps takes steps until one fails. Each gets a context that lasts as long as the
// programs, and one that bounds the start.
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

// Names are the programs that run, in the order in which they were started.
func (g *Group) Names() []string {
	var names []string
	for _, p := range g.running {
		names = append(names, p.name)
	}
	return names
}

// PID is the number of a program's process, or 0 for one that does not run.
func (g *Group) PID(name string) int {
	for _, p := range g.running {
		if p.name == name {
			return p.cmd.Process.Pid
		}
	}
	return 0
}

// Logs are the last lines of every program.
func (g *Group) Logs() string {
	var all strings.Builder
	for _, p := range g.running {
		fmt.Fprintf(&all, "--- the end of %s\n%s\n", p.log, p.tail())
	}
	return all.String()
}

// Until asks again and again whether something is there yet. It gives up when
// the context ends or one of the programs does, with the last answer.
func (g *Group) Until(ctx context.Context, what string, ask func(context.Context) error) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var err error
	for {
		answer := ask(ctx)
		if answer == nil {
			return nil
		}
		if err == nil || ctx.Err() == nil { // that the time is up says less than what was heard before
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
