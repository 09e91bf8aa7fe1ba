package guard

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

const (
	// longestRetry is the longest pause before a retry.
	longestRetry = 15 * time.Second
	// removedAtOnce is the number of concurrent deletions. The API server throttles more if it has
	// to.
	removedAtOnce = 64
	// contested is the pause before the next attempt to delete an object that changes again and
	// again during the deletion.
	contested = 100 * time.Millisecond
	// rivals is the number of concurrent requests to delete such an object. Each competes in the API
	// server with the updates of every other client.
	rivals = 8
	// batch is the number of deletions before the controller does anything else.
	batch = 1024
)

// expire does all the work that is due. It deletes expired exceptions and those that Enforce
// removes, and checks other objects again. It ends, because it leaves each object with a later time
// or none.
func (c *checker) expire(ctx context.Context) {
	for ctx.Err() == nil {
		now := c.Clock.Now()
		var remove []*Finding
		looked := false
		for _, s := range c.due(now) {
			f := &s.finding
			switch s.due = (time.Time{}); {
			case s.removing: // its outcome plans the next action
			case f.remove || f.hasEnded(c.rules, now):
				remove = append(remove, f)
			default:
				c.look(ctx, f.Object, "")
				looked = true
			}
		}
		if len(remove) == 0 && !looked {
			return
		}
		c.remove(ctx, remove)
	}
}

// due returns objects whose next action is due, up to the size of a batch.
func (c *checker) due(now time.Time) (due []*stored) {
	for _, s := range c.known {
		if !s.due.IsZero() && !now.Before(s.due) && len(due) < batch {
			due = append(due, s)
		}
	}
	return due
}

// removal is the outcome of deleting an object in the state in which it was judged.
type removal struct {
	finding Finding
	outcome error
}

// remove deletes objects concurrently. It does not wait for a deletion that hangs, for example
// because a webhook of somebody else is asked: the others expire meanwhile.
func (c *checker) remove(ctx context.Context, all []*Finding) {
	var group sync.WaitGroup
	for _, f := range all {
		s := c.known[f.Object]
		judged, state, requests := *f, f.state, 1
		if s.contested {
			requests = rivals
		}
		if f.dying || requests > 1 {
			// Its state does not matter any more. The API server answers a conflict if a request
			// names the state of an object that only its deletion policy keeps.
			state.ResourceVersion = ""
		}
		s.contested, s.removing = false, true
		group.Add(1)
		c.running.Go(func() {
			defer group.Done()
			c.turns <- struct{}{}
			defer func() { <-c.turns }()
			outcome := c.delete(ctx, judged.Object, state, requests)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.removals = append(c.removals, removal{judged, outcome})
			c.wake()
		})
	}
	done := make(chan struct{})
	c.running.Go(func() { defer close(done); group.Wait() })
	c.deletes(1)
	pause(ctx, c.Clock, longest, done)
	c.finish(ctx)
	c.deletes(-1)
}

// delete sends concurrent requests to delete an object. One that succeeds is enough.
func (c *checker) delete(ctx context.Context, id exception.Identity, state State, requests int) error {
	outcomes := make(chan error, requests)
	for range requests {
		go func() { outcomes <- c.Store.Delete(ctx, id, state) }()
	}
	outcome := <-outcomes
	for range requests - 1 {
		if other := <-outcomes; other == nil || errors.Is(outcome, ErrGone) {
			outcome = other
		}
	}
	return outcome
}

// finish handles the outcomes of deletions.
func (c *checker) finish(ctx context.Context) {
	c.mu.Lock()
	all := c.removals
	c.removals = nil
	c.mu.Unlock()
	for _, r := range all {
		c.removed(ctx, &r.finding, r.outcome)
	}
}

// removed handles the outcome of deleting an object.
func (c *checker) removed(ctx context.Context, f *Finding, outcome error) {
	s := c.known[f.Object]
	if s != nil {
		s.removing = false
	}
	if f.hasEnded(c.rules, c.Clock.Now()) && f.Reason != verify.ReasonExpired {
		*f = f.expired()
	}
	switch {
	case outcome == nil:
		c.Metrics.deletions.WithLabelValues(f.Reason).Inc()
		if f.kept {
			f.Hint = "Kyverno may still apply it until the policy that it names changes or Kyverno restarts: " +
				"do one of these"
		}
		c.Tell.Removed(ctx, f)
		if s != nil && s.finding.UID == f.UID {
			c.forget(f.Object)
		}
	case s == nil: // the watch has reported that it is gone
	case errors.Is(outcome, ErrGone):
		c.again(ctx, f, s.failures+1)
	case s.finding.state != f.state: // it was judged again meanwhile
		c.plan(s)
	default:
		if f.Reason != s.finding.Reason {
			c.keep(*f, true)
		}
		c.postpone(ctx, s, "delete", outcome)
	}
}

// again reads an object that changed during its deletion, or is gone. It is deleted only if its new
// state has to be deleted too, and then in any state: a user who changes it all the time must not
// keep it.
func (c *checker) again(ctx context.Context, f *Finding, tried int) {
	c.look(ctx, f.Object, f.Version)
	s := c.known[f.Object]
	if s == nil || !s.finding.remove && !s.finding.hasEnded(c.rules, c.Clock.Now()) {
		return
	}
	s.contested = true
	if s.failures = tried; tried > 3 {
		s.due = c.Clock.Now().Add(contested)
	}
}

// expired returns the finding of an exception after its expiry.
func (f *Finding) expired() Finding {
	ended := *f
	ended.reject(verify.ReasonExpired, "it expired at "+timestamp(f.Facts.ExpiresAt))
	ended.Since, ended.sound, ended.turns = f.Facts.ExpiresAt, "", time.Time{}
	return ended
}

// postpone plans a retry with increasing pauses.
func (c *checker) postpone(ctx context.Context, s *stored, what string, err error) {
	c.Tell.Failed(ctx, what+" "+s.finding.Object.String(), err)
	at := c.Clock.Now().Add(min(time.Second<<min(s.failures, 10), longestRetry))
	s.failures++
	if s.due.IsZero() || at.Before(s.due) {
		s.due = at
	}
}
