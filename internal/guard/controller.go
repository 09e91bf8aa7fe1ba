package guard

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/polex-dev/polex/pkg/exception"
)

// Tell receives the findings and actions of the controller.
type Tell interface {
	// Found reports an object with a new finding.
	Found(ctx context.Context, f *Finding)
	// Removed reports an object that the controller deleted, with the reason.
	Removed(ctx context.Context, f *Finding)
	// Failed reports an operation that failed and will be retried.
	Failed(ctx context.Context, what string, err error)
	// Report receives all findings whenever one of them has changed.
	Report(ctx context.Context, findings []*Finding) error
}

// Controller verifies the stored objects: at its start, when one changes, and at an interval. It
// deletes expired exceptions and, with Enforce, rejected ones.
//
// The expiry alone is a reason to delete an exception only if its signature verifies in every other
// respect: then the signer has set the expiry. Anybody can write the expiry of an exception that
// does not verify, so such an exception is only reported. Objects of other kinds are never deleted.
//
// Only the guard that holds the lease runs the controller. All its state is read from the cluster,
// so the next holder of the lease reaches the same findings.
type Controller struct {
	Store   Store
	Rules   *Current
	Cluster string
	Git     *Git // nil: exceptions are not compared with Git
	// Definitions is nil if the conversion of exceptions is not checked.
	Definitions *Definitions
	Clock       clock.WithTicker
	Tell        Tell
	Metrics     *Metrics
	// Every is the interval between two checks of all objects.
	Every time.Duration
	// Enforce deletes exceptions that have been rejected for at least Every. The delay leaves time
	// to correct a wrong configuration.
	Enforce bool

	mu    sync.Mutex
	dirty map[exception.Identity]bool
	wake  chan struct{}

	known    map[exception.Identity]*stored
	due      schedule // the next action on each object
	ends     schedule // the expiry of each exception
	changed  bool
	reported time.Time     // the time of the last report or attempt
	took     time.Duration // the duration of the last report
	rules    *Rules        // of the findings
	commit   *Commit       // of the findings; nil: not known
	// Of the findings; nil: not known.
	conversions *Conversions
}

// longest is the longest pause between two looks at the clock. Somebody may set the clock, and then
// exceptions expire at once.
const longest = time.Second

// The pause between two reports is at least betweenReports, and at least restsFor times the
// duration of the last report. A report is written as a whole, and thousands of changes can follow
// one another.
const (
	betweenReports = time.Second
	restsFor       = 50
)

// Touch records that an object has changed. It never blocks.
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

// Run verifies the stored objects and deletes expired ones until the context ends.
func (c *Controller) Run(ctx context.Context) error {
	c.mu.Lock()
	wake := c.waker()
	c.mu.Unlock()
	c.known, c.due, c.ends = map[exception.Identity]*stored{}, nil, nil
	c.rules, c.commit, c.conversions = nil, nil, nil
	c.took = 0
	var again time.Time // the time of the next check of all objects
	for ctx.Err() == nil {
		now := c.Clock.Now().Round(0) // wall time only, so that a change of the clock is visible
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

// pause returns the time until the next action.
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

// fewAtOnce is the largest number of objects that are read one by one. More are read in one scan.
const fewAtOnce = 16

// lookAtAll checks all objects and forgets the deleted ones. It does not read an object again that
// has not changed since the same rules judged it. It reports whether it succeeded.
func (c *Controller) lookAtAll(ctx context.Context) bool {
	if c.rules == nil {
		return true // there are no rules yet
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
				c.expire(ctx) // an expiry must not wait for thousands of objects
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

// finding returns the finding of an object, or nil.
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

// report sends all findings, at most once in every rest: the first change of a series is reported
// at once, and the others together.
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
		return // a later turn retries
	}
	c.changed = false
}

// mayReport reports whether the last report is old enough. A report in the future means that the
// clock was set back, and allows a new one.
func (c *Controller) mayReport(now time.Time) bool {
	ago := now.Sub(c.reported)
	return ago >= c.rest() || ago < 0
}

// rest is the shortest time between two reports.
func (c *Controller) rest() time.Duration {
	return max(betweenReports, min(restsFor*c.took, longestRetry))
}
