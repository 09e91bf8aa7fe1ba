package servers

import (
	"context"
	"fmt"
	"os"
	"slices"
	"syscall"
)

// Kill kills a program without a warning, like a crash.
func (g *Group) Kill(name string) error {
	p, err := g.named(name)
	if err != nil {
		return err
	}
	if err := p.cmd.Process.Signal(os.Kill); err != nil {
		return fmt.Errorf("kill %s: %w", name, err)
	}
	<-p.ended
	g.running = slices.DeleteFunc(g.running, func(other *process) bool { return other == p })
	g.killed = append(g.killed, p)
	return nil
}

// Revive starts a killed program again with the same command. It does not wait until the program is
// ready.
func (g *Group) Revive(ctx context.Context, name string) error {
	i := slices.IndexFunc(g.killed, func(p *process) bool { return p.name == name })
	if i < 0 {
		return fmt.Errorf("no %s was killed", name)
	}
	told := g.killed[i].told
	g.killed = slices.Delete(g.killed, i, i+1)
	return g.Run(ctx, told)
}

// Restart kills a program, and revives it.
func (g *Group) Restart(ctx context.Context, name string) error {
	if err := g.Kill(name); err != nil {
		return err
	}
	return g.Revive(ctx, name)
}

// Pause stops a program, so that it hangs with open connections.
func (g *Group) Pause(name string) error { return g.signal(name, syscall.SIGSTOP) }

// Continue continues a paused program.
func (g *Group) Continue(name string) error { return g.signal(name, syscall.SIGCONT) }

func (g *Group) signal(name string, s syscall.Signal) error {
	p, err := g.named(name)
	if err != nil {
		return err
	}
	return p.cmd.Process.Signal(s)
}

func (g *Group) named(name string) (*process, error) {
	i := slices.IndexFunc(g.running, func(p *process) bool { return p.name == name })
	if i < 0 {
		return nil, fmt.Errorf("no %s runs", name)
	}
	return g.running[i], nil
}
