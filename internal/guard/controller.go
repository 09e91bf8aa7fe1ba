package guard

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/polex-dev/polex/pkg/exception"
)

// Tell is who is told what the controller finds and does.
type Tell interface {
	// Found is told of an object that is judged otherwise than before.
	Found(ctx context.Context, f *Finding)
	// Removed is told of an object that the controller deleted, and why.
	Removed(ctx context.Context, f *Finding)
	// Failed is told of what could not be done; it is tried again.
	Failed(ctx context.Context, what string, err error)
	// Report is told of everything that is known, whenever that has changed.
	Report(ctx context.Context, findings []*Finding) error
}

// Controller looks again at what is stored: at start, whenever it changes, and at an
// interval. It deletes an exception when its time has come, and what must not be
// there if it is told to.
//
// An exception is deleted for its time alone when its seal verifies but for that:
// who signed it said when it ends. What cannot be verified might say anything, and
// is only told of. Other kinds are never deleted.
//
// It is for one at a time: whoever holds the lease runs it. What it knows it has
// read, so that the next one knows the same.
type Controller struct {
	Store   Store
	Rules   *Current
	Cluster string
	Git     *Git // nil where nobody asks what the repository holds
	// Definitions is nil where nobody asks how exceptions are converted.
	Definitions *Definitions
	Clock       clock.WithTicker
	Tell        Tell
	Metrics     *Metrics
	// Every is how often everything is looked at again.
	Every time.Duration
	// Enforce deletes exceptions that were refused for as long as Every, so that a
	// configuration that was a mistake can be told before it costs anything.
	Enforce bool

	mu    sync.Mutex
	dirty map[exception.Identity]bool
	wake  chan struct{}

	known    map[exception.Identity]*stored
	due      schedule // of what has to be done about each
	ends     schedule // of exceptions
	changed  bool
	reported time.Time     // when the last report was made, or tried
	took     time.Duration // by that
	rules    *Rules        // the findings are by these
	commit   *Commit       // and by this one; nil when it is not known
	// And by these; nil when they are not known.
	conversions *Conversions
}

// longest is the longest that the controller waits without looking at the clock: a
// clock may be set, and what has expired then has expired.
const longest = time.Second

// There is at least betweenReports from one report to the next, and so many times as
// long as one took. Each is written whole, and thousands of changes may come in a row.
const (
	betweenReports = time.Second
	restsFor       = 50
)

// Touch says that an object was changed. It never waits.
func (c *Controller) Touch(id exception.Identity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dirty == nil {
		c.dirty = map[exception.Identity]bool{}
	}
	c.dirty[id] = true
	select {
	case c.waker() <- struct{}{}:
	default:
	}
}

func (c *Controller) waker() chan struct{} {
	if c.wake == nil {
		c.wake = make(chan struct{}, 1)
	}
	return c.wake
}

// Run keeps the cluster until the context ends.
func (c *Controller) Run(ctx context.Context) error {
	c.mu.Lock()
	wake := c.waker()
	c.mu.Unlock()
	c.known, c.due, c.ends = map[exception.Identity]*stored{}, nil, nil
	c.rules, c.commit, c.conversions = nil, nil, nil
	c.took = 0
	var again time.Time // when everything is looked at
	for ctx.Err() == nil {
		now := c.Clock.Now().Round(0) // the wall's time alone, which shows that the clock was set
		rules, commit, conversions := c.Rules.Rules(), c.Git.Commit(), c.Definitions.known()
		if rules != c.rules || commit != c.commit || conversions != c.conversions || !now.Before(again) || again.Sub(now) > c.Every {
			c.rules, c.commit, c.conversions = rules, commit, conversions
			again = now.Add(c.Every)
			if !c.lookAtAll(ctx) {
				again = now.Add(min(c.Every, longestRetry))
			}
		}
		c.lookAtChanged(ctx)
		c.expire(ctx)
		c.report(ctx)

		timer := c.Clock.NewTimer(c.pause(again))
		select {
		case <-ctx.Done():
		case <-wake:
		case <-timer.C():
		}
		timer.Stop()
	}
	return nil
}

// pause is how long there is nothing to do, as the clock goes now.
func (c *Controller) pause(again time.Time) time.Duration {
	now := c.Clock.Now()
	wait := min(longest, again.Sub(now))
	if next := c.due.next(); next != nil {
		wait = min(wait, next.at.Sub(now))
	}
	if c.changed {
		wait = min(wait, c.reported.Add(c.rest()).Sub(now))
	}
	return max(wait, time.Millisecond)
}

// fewAtOnce is how many objects are read one by one. More are read together.
const fewAtOnce = 16

// lookAtAll looks at everything, and forgets what is not there. What has not changed
// since it was judged by the same rules is not read again. It reports whether it could.
func (c *Controller) lookAtAll(ctx context.Context) bool {
	if c.rules == nil {
		return true // there is nothing to judge by
	}
	there, err := c.Store.States(ctx, c.rules.kinds)
	if err != nil {
		c.Tell.Failed(ctx, "list the stored exceptions", err)
		return false
	}
	for id := range c.known {
		if _, is := there[id]; !is {
			c.forget(id)
		}
	}
	anew := map[exception.Identity]bool{}
	for id, state := range there {
		f := c.finding(id)
		if f == nil || f.state != state || !f.holds(c.rules, c.conversions, c.Clock.Now()) {
			anew[id] = true
			continue
		}
		again := *f
		c.settle(ctx, &again, f)
	}
	if len(anew) > fewAtOnce {
		err := c.Store.Scan(ctx, c.rules.kinds, func(o *Object) {
			if anew[o.Identity] && ctx.Err() == nil {
				delete(anew, o.Identity)
				c.show(ctx, o)
				c.expire(ctx) // which must not wait for thousands
			}
		})
		if err != nil {
			c.Tell.Failed(ctx, "read the stored exceptions", err)
			return false
		}
	}
	for id := range anew {
		if ctx.Err() != nil {
			return false
		}
		c.look(ctx, id)
		c.expire(ctx)
	}
	c.Metrics.lookedAtAll(c.Clock.Now())
	return true
}

func (c *Controller) lookAtChanged(ctx context.Context) {
	c.mu.Lock()
	dirty := c.dirty
	c.dirty = nil
	c.mu.Unlock()
	for id := range dirty {
		if c.rules != nil && ctx.Err() == nil {
			c.look(ctx, id)
			c.expire(ctx)
		}
	}
}

// finding is what is known of an object, or nil.
func (c *Controller) finding(id exception.Identity) *Finding {
	if s := c.known[id]; s != nil {
		return &s.finding
	}
	return nil
}

func (c *Controller) forget(id exception.Identity) {
	s := c.known[id]
	if s == nil {
		return
	}
	delete(c.known, id)
	c.due.set(&s.due, time.Time{})
	c.ends.set(&s.end, time.Time{})
	c.Metrics.nextExpiry(c.ends.next())
	c.changed = true
}

// report tells what stands where, once in a while: of many changes in a row, the
// first and what the others have come to.
func (c *Controller) report(ctx context.Context) {
	now := c.Clock.Now()
	if !c.changed || !c.mayReport(now) {
		return
	}
	c.reported = now
	all := make([]*Finding, 0, len(c.known))
	for _, s := range c.known {
		all = append(all, &s.finding)
	}
	c.Metrics.found(all)
	err := c.Tell.Report(ctx, all)
	c.took = c.Clock.Since(now)
	if err != nil {
		c.Tell.Failed(ctx, "write the reports", err)
		return // and again in a while
	}
	c.changed = false
}

// mayReport says whether the last report was long enough ago, or by a clock that was
// set since.
func (c *Controller) mayReport(now time.Time) bool {
	ago := now.Sub(c.reported)
	return ago >= c.rest() || ago < 0
}

// rest is how long there is to be until the next report.
func (c *Controller) rest() time.Duration {
	return max(betweenReports, min(restsFor*c.took, longestRetry))
}
