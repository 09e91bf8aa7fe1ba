package guard

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/polex-dev/polex/pkg/verify"
)

const (
	// longestRetry is the longest that what failed waits to be tried again.
	longestRetry = 15 * time.Second
	// removedAtOnce is how many objects are being deleted at once. The API server
	// says what is too much for it.
	removedAtOnce = 64
	// contested is how long an object waits to be deleted that is changed again and
	// again in the moment in which it is to be.
	contested = 100 * time.Millisecond
	// batch is how many are deleted before anything else is looked at.
	batch = 1024
)

// expire does what has to be done by now: it deletes the exceptions whose time has
// come, and those that must not be there, and looks again at others. It leaves each
// planned for later or not at all, so that it ends.
func (c *Controller) expire(ctx context.Context) {
	for ctx.Err() == nil {
		now := c.Clock.Now()
		var remove []*Finding
		looked := false
		for len(remove) < batch {
			next := c.due.next()
			if next == nil || now.Before(next.at) {
				break
			}
			c.due.set(next, time.Time{})
			if f := &next.of.finding; f.doomed || f.hasEnded(c.rules, now) {
				remove = append(remove, f)
				continue
			}
			c.look(ctx, next.of.finding.Object)
			looked = true
		}
		if len(remove) == 0 && !looked {
			return
		}
		c.remove(ctx, remove)
	}
}

// remove deletes objects, many at once.
func (c *Controller) remove(ctx context.Context, all []*Finding) {
	outcomes := make([]error, len(all))
	turns := make(chan struct{}, removedAtOnce)
	var group sync.WaitGroup
	for i, f := range all {
		turns <- struct{}{}
		state := f.state
		if f.dying {
			// It goes in any state. And the API server answers a conflict to whoever names
			// the state of an object that only its way of being deleted keeps.
			state.ResourceVersion = ""
		}
		group.Go(func() {
			defer func() { <-turns }()
			outcomes[i] = c.Store.Delete(ctx, f.Object, state)
		})
	}
	group.Wait()
	for i, f := range all {
		c.removed(ctx, f, outcomes[i])
	}
}

// removed says what became of deleting an object in the state that it was judged in.
func (c *Controller) removed(ctx context.Context, f *Finding, outcome error) {
	id := f.Object
	if errors.Is(outcome, ErrGone) {
		// It has changed, or is gone. What is deleted is what is there now, and only if
		// that is to be deleted.
		tried := c.known[id].failures + 1
		c.look(ctx, id)
		if s := c.known[id]; s != nil && (s.finding.doomed || s.finding.hasEnded(c.rules, c.Clock.Now())) {
			if s.failures = tried; tried > 3 {
				c.due.set(&s.due, c.Clock.Now().Add(contested))
			}
		}
		return
	}
	s := c.known[id]
	if f.hasEnded(c.rules, c.Clock.Now()) && f.Reason != verify.ReasonExpired {
		s.finding, c.changed = f.expired(), true
	}
	if outcome != nil {
		c.postpone(ctx, s, "delete", outcome)
		return
	}
	c.Metrics.removed(f.Reason)
	c.Tell.Removed(ctx, f)
	c.forget(id)
}

// expired is what is known of an exception once its end has come.
func (f *Finding) expired() Finding {
	ended := *f
	ended.answer("", f.Facts, &refusal{verify.ReasonExpired, "it expired at " + timestamp(f.Facts.ExpiresAt), f.Facts})
	ended.Since, ended.sound, ended.turns = f.Facts.ExpiresAt, "", time.Time{}
	return ended
}

// postpone tries again, after longer and longer times.
func (c *Controller) postpone(ctx context.Context, s *stored, what string, err error) {
	c.Tell.Failed(ctx, what+" "+s.finding.Object.String(), err)
	at := c.Clock.Now().Add(min(time.Second<<min(s.failures, 10), longestRetry))
	s.failures++
	if s.due.place == 0 || at.Before(s.due.at) {
		c.due.set(&s.due, at)
	}
}
