package guard

import (
	"context"
	"slices"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// checker verifies the stored objects of one kind, and deletes expired ones.
type checker struct {
	*Controller
	kind  exception.GroupKind
	woken chan struct{}

	// Protected by the lock of the controller. Only the checker itself changes known.
	dirty  map[exception.Identity]bool
	anew   bool // all objects have to be read again
	known  map[exception.Identity]*stored
	looked time.Time // when all objects were last checked
	// When the last series of deletions began, while objects were read.
	expired time.Time
	begun   bool // its first check of all objects has ended
	news    bool // a finding has changed in this turn
	// Deletions that have ended and are not handled yet.
	removals []removal
	turns    chan struct{} // of the concurrent deletions

	rules *Rules // of the findings

	definition defined
	reading    int       // counts the times that all objects have to be read again
	settles    time.Time // when they have to be read again after a change of the definition; zero: never
}

// stored is the state of the controller for one stored object. A new finding overwrites the
// previous one, so long-lived memory stays together and the rest can be freed.
type stored struct {
	finding  Finding
	due      time.Time // of the next action; zero: none
	failures int       // consecutive failures to read or delete it
	// contested means that it changed during its deletion, and its new state has to be deleted too.
	contested bool
	removing  bool // its deletion has not ended
}

func (c *checker) wake() {
	select {
	case c.woken <- struct{}{}:
	default:
	}
}

func (c *checker) run(ctx context.Context) {
	var again time.Time // the time of the next check of all objects
	for ctx.Err() == nil {
		now := c.Clock.Now().Round(0) // wall time only, so that a change of the clock is visible
		if c.changes(now) || !now.Before(again) || again.Sub(now) > c.Every {
			again = now.Add(c.Every)
			if !c.lookAtAll(ctx) {
				again = now.Add(min(c.Every, longestRetry))
			}
		}
		c.finish(ctx)
		c.lookAtChanged(ctx)
		c.expire(ctx)
		c.report(ctx, c)
		pause(ctx, c.Clock, c.wait(again), c.woken)
	}
}

// changes reports whether all objects have to be checked, for example because of new rules.
func (c *checker) changes(now time.Time) bool {
	const settlesWithin = 10 * time.Second // the time in which every API server serves objects by a new definition
	rules, definition := c.Rules.Rules(), c.Definitions.of(c.kind)
	c.mu.Lock()
	anew := c.anew
	c.anew = false
	c.mu.Unlock()
	if !c.settles.IsZero() && !now.Before(c.settles) {
		anew, c.settles = true, time.Time{}
	}
	if before := c.definition; before.known && before.Definition != definition.Definition {
		anew, c.settles = true, now.Add(settlesWithin)
	}
	if anew {
		c.reading++
	}
	anew = anew || c.rules != rules || c.definition.known != definition.known
	c.rules, c.definition = rules, definition
	return anew
}

// wait returns the time until the next action. The clock may jump, so it is never long.
func (c *checker) wait(again time.Time) time.Duration {
	now := c.Clock.Now()
	wait := min(longest, again.Sub(now))
	for _, s := range c.known {
		if !s.due.IsZero() {
			wait = min(wait, s.due.Sub(now))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed && !c.reporting && c.deleting == 0 && c.allBegun(now) {
		wait = min(wait, c.reported.Add(c.rest()).Sub(now))
	}
	return max(wait, time.Millisecond)
}

// isListed reports whether the trust policy still lists the kind of a checker.
func (c *checker) isListed() bool { return slices.Contains(c.rules.kinds, c.kind) }

// lookAtAll checks all objects and forgets the deleted ones. It does not read an object again that
// has not changed since the same rules judged it. It reports whether it succeeded, and whether
// changes of the objects and their definition are seen.
func (c *checker) lookAtAll(ctx context.Context) bool {
	var states map[exception.Identity]State
	watched := true
	if c.isListed() {
		states, watched = c.Store.States(c.kind)
	}
	for id := range c.known {
		if _, exists := states[id]; !exists {
			c.forget(id)
		}
	}
	anew := map[exception.Identity]bool{}
	for id, state := range states {
		f := c.finding(id)
		if f == nil || f.state != state || f.reading != c.reading || !f.isValid(c.rules, c.Clock.Now()) {
			anew[id] = true
			continue
		}
		c.record(ctx, *f, f)
	}
	if !c.lookAt(ctx, anew) || !watched || !c.definition.watched {
		return false
	}
	c.lookedAt(c, c.Clock.Now())
	return true
}

// lookAt reads objects and judges them. It reports whether it could read all of them.
func (c *checker) lookAt(ctx context.Context, anew map[exception.Identity]bool) bool {
	const fewAtOnce = 16 // objects that are read one by one; more are read in one scan
	if len(anew) > fewAtOnce {
		err := c.Store.Scan(ctx, c.kind, func(o *Object) {
			if anew[o.Identity] && ctx.Err() == nil {
				delete(anew, o.Identity)
				c.show(ctx, o)
				c.expireMeanwhile(ctx)
			}
		})
		if err != nil {
			c.Tell.Failed(ctx, "read the stored exceptions", err)
			return false
		}
	}
	all := true
	for id := range anew {
		if ctx.Err() != nil {
			return false
		}
		all = c.look(ctx, id, "") && all
		c.expireMeanwhile(ctx)
	}
	return all
}

// expireMeanwhile does the work that is due, because an expiry must not wait for thousands of objects.
// It lets work gather: deletions are concurrent, and one after each object would be alone.
func (c *checker) expireMeanwhile(ctx context.Context) {
	const expiresEvery = 50 * time.Millisecond // the pause between two series of deletions while objects are read
	if now := c.Clock.Now(); passed(c.expired, now, expiresEvery) {
		c.expired = now
		c.expire(ctx)
	}
}

func (c *checker) lookAtChanged(ctx context.Context) {
	c.mu.Lock()
	dirty := c.dirty
	c.dirty = map[exception.Identity]bool{}
	c.mu.Unlock()
	for id := range dirty {
		if c.isListed() && ctx.Err() == nil {
			c.look(ctx, id, "")
			c.expireMeanwhile(ctx)
		}
	}
}

// finding returns the finding of an object, or nil.
func (c *checker) finding(id exception.Identity) *Finding {
	if s := c.known[id]; s != nil {
		return &s.finding
	}
	return nil
}

// keep stores the finding of an object.
func (c *checker) keep(f Finding, differs bool) *stored {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.known[f.Object]
	if s == nil {
		s = &stored{}
		c.known[f.Object] = s
	}
	s.finding = f
	c.news = c.news || differs
	return s
}

func (c *checker) forget(id exception.Identity) {
	if c.known[id] == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, id)
	c.news = true
}
