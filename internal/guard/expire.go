package guard

import (
	"context"
	"errors"
	"sync"
	"time"

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
			c.look(ctx, next.of.finding.Object, "")
			looked = true
		}
		if len(remove) == 0 && !looked {
			return
		}
		c.remove(ctx, remove)
	}
}

// remove deletes objects concurrently.
func (c *checker) remove(ctx context.Context, all []*Finding) {
	outcomes := make([]error, len(all))
	turns := make(chan struct{}, removedAtOnce)
	var group sync.WaitGroup
	for i, f := range all {
		turns <- struct{}{}
		state, s := f.state, c.known[f.Object]
		if f.dying || s.contested {
			// Its state does not matter any more. The API server answers a conflict if a request
			// names the state of an object that only its deletion policy keeps.
			state.ResourceVersion = ""
		}
		s.contested = false
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

// removed handles the outcome of deleting an object in the state in which it was judged.
func (c *checker) removed(ctx context.Context, f *Finding, outcome error) {
	id := f.Object
	if errors.Is(outcome, ErrGone) {
		// The object has changed or is gone. It is deleted only if its new state has to be deleted
		// too, and then in any state: a user who changes it all the time must not keep it.
		tried := c.known[id].failures + 1
		c.look(ctx, id, f.Version)
		if s := c.known[id]; s != nil && (s.finding.doomed || s.finding.hasEnded(c.rules, c.Clock.Now())) {
			s.contested = true
			if s.failures = tried; tried > 3 {
				c.due.set(&s.due, c.Clock.Now().Add(contested))
			}
		}
		return
	}
	s := c.known[id]
	if f.hasEnded(c.rules, c.Clock.Now()) && f.Reason != verify.ReasonExpired {
		c.keep(f.expired(), true)
	}
	if outcome != nil {
		c.postpone(ctx, s, "delete", outcome)
		return
	}
	c.Metrics.removed(f.Reason)
	c.Tell.Removed(ctx, f)
	c.forget(id)
}

// expired returns the finding of an exception after its expiry.
func (f *Finding) expired() Finding {
	ended := *f
	ended.answer("", f.Facts, &refusal{verify.ReasonExpired, "it expired at " + timestamp(f.Facts.ExpiresAt), f.Facts})
	ended.Since, ended.sound, ended.turns = f.Facts.ExpiresAt, "", time.Time{}
	return ended
}

// postpone plans a retry with increasing pauses.
func (c *checker) postpone(ctx context.Context, s *stored, what string, err error) {
	c.Tell.Failed(ctx, what+" "+s.finding.Object.String(), err)
	at := c.Clock.Now().Add(min(time.Second<<min(s.failures, 10), longestRetry))
	s.failures++
	if s.due.place == 0 || at.Before(s.due.at) {
		c.due.set(&s.due, at)
	}
}
