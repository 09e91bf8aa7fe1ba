package servers

import (
	"context"
	"fmt"
	"os"
	"slices"
	"syscall"
)

// Kill ends a program without telling it, as a crash does.
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
	return nil
}

// Restart kills a program, and starts it anew with what it was told before. It does
// not wait until it is ready.
func (g *Group) Restart(ctx context.Context, name string) error {
	p, err := g.named(name)
	if err != nil {
		return err
	}
	if err := g.Kill(name); err != nil {
		return err
	}
	return g.Run(ctx, p.told)
}

// Pause stops a program where it is: it hangs, and its connections stay open.
func (g *Group) Pause(name string) error { return g.signal(name, syscall.SIGSTOP) }

// Continue lets a program go on that was paused.
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
