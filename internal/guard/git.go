package guard

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// Commit is what one commit of the repository of exceptions holds, as far as the
// guard asks. Nothing of it is verified: what is stored is, and then held against
// the messages.
type Commit struct {
	// Hash names the commit, for logs.
	Hash string
	// State differs between commits that hold something else where it is looked.
	State string
	// Messages are the digests of the signed messages, as [verify.Facts] has them.
	Messages map[string]bool
}

// ReadCommit reads what the repository holds by now, or returns nil when it is
// still what the state tells. An error means that this cannot be said as a whole.
type ReadCommit func(ctx context.Context, state string) (*Commit, error)

// Git is what is known of the repository of exceptions. It is read beside the
// [Controller], since it may take longer than an exception may outlive its end.
//
// As long as it cannot be read, nothing is known, and nothing is unknown to it:
// what was read before may lack what came since.
type Git struct {
	Read    ReadCommit
	Every   time.Duration // how often it is looked whether the repository has moved
	Clock   clock.WithTicker
	Metrics *Metrics

	// Moved is told of what counts from now on, Unreadable of why nothing does,
	// once for each that differs.
	Moved      func(*Commit)
	Unreadable func(error)

	current atomic.Pointer[Commit]
	last    *Commit // that could be read
	failure string
}

// Commit returns what the repository holds, or nil as long as that is not known.
// A nil Git knows nothing.
func (g *Git) Commit() *Commit {
	if g == nil {
		return nil
	}
	return g.current.Load()
}

// Run looks at the repository, at once and then again and again, until the context
// ends.
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

// Once looks at the repository.
func (g *Git) Once(ctx context.Context) {
	state := ""
	if g.last != nil {
		state = g.last.State
	}
	read, err := g.read(ctx, state)
	if ctx.Err() != nil {
		return // it was told to end, which says nothing of the repository
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

// read turns a panic into an error: whoever may push decides what the libraries
// have to parse, and must not be able to end the guard.
func (g *Git) read(ctx context.Context, state string) (read *Commit, err error) {
	defer func() {
		if p := recover(); p != nil {
			read, err = nil, fmt.Errorf("read the repository: internal error: %v", p)
		}
	}()
	return g.Read(ctx, state)
}
