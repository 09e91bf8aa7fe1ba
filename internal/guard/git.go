package guard

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// Commit is the content of one commit of the exceptions repository. Its messages are not verified:
// the guard verifies stored objects and looks up their messages here.
type Commit struct {
	// Hash is the commit's hash, for logs.
	Hash string
	// State changes when a folder that the guard reads changes.
	State string
	// Messages are the digests of the signed messages, as in [verify.Facts].
	Messages map[string]bool
}

// ReadCommit reads the repository. It returns nil if the repository still has the given state. An
// error means that the content is not completely known.
type ReadCommit func(ctx context.Context, state string) (*Commit, error)

// Git holds the last known content of the exceptions repository. A goroutine of its own reads it,
// because a read may take too long for the [Controller] to delete an expired exception in time.
//
// If a read fails, the content is unknown and no exception is reported as missing: the previous
// content may lack newer exceptions.
type Git struct {
	Read    ReadCommit
	Every   time.Duration // the interval between two reads
	Clock   clock.WithTicker
	Metrics *Metrics

	// Moved receives the commit that is valid from now on. Unreadable receives the error after
	// which none is valid, once for each new text.
	Moved      func(*Commit)
	Unreadable func(error)

	current atomic.Pointer[Commit]
	last    *Commit // the last commit that could be read
	failure string
}

// Commit returns the content of the repository, or nil if it is unknown. A nil Git returns nil.
func (g *Git) Commit() *Commit {
	if g == nil {
		return nil
	}
	return g.current.Load()
}

// Run reads the repository at once and then at the interval, until the context ends.
func (g *Git) Run(ctx context.Context) error {
	ticker := g.Clock.NewTicker(g.Every)
	defer ticker.Stop()
	for {
		g.Once(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// Once reads the repository.
func (g *Git) Once(ctx context.Context) {
	state := ""
	if g.last != nil {
		state = g.last.State
	}
	read, err := g.read(ctx, state)
	if ctx.Err() != nil {
		return // the read was cancelled; the repository may be fine
	}
	g.Metrics.readGit(g.Clock.Now(), err == nil)
	if err != nil {
		g.current.Store(nil)
		if text := err.Error(); text != g.failure {
			g.failure = text
			g.Unreadable(err)
		}
		return
	}
	g.failure = ""
	if read != nil {
		g.last = read
	}
	if g.last != g.current.Load() {
		g.current.Store(g.last)
		g.Moved(g.last)
	}
}

// read turns a panic into an error. Everybody with write access to the repository chooses the input
// of the Git parser, and must not be able to stop the guard.
func (g *Git) read(ctx context.Context, state string) (read *Commit, err error) {
	defer func() {
		if p := recover(); p != nil {
			read, err = nil, fmt.Errorf("read the repository: internal error: %v", p)
		}
	}()
	return g.Read(ctx, state)
}
