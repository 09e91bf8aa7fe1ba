package guard

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/polex-dev/polex/pkg/exception"
)

// Tell receives the findings and actions of the controller. It is safe for concurrent use.
type Tell interface {
	// Found reports an object with a new finding.
	Found(ctx context.Context, f *Finding)
	// Removed reports an object that the controller deleted, with the reason.
	Removed(ctx context.Context, f *Finding)
	// Failed reports an operation that failed and will be retried.
	Failed(ctx context.Context, what string, err error)
	// Report receives copies of all findings whenever one of them has changed. It is not called
	// again before it has returned.
	Report(ctx context.Context, findings []*Finding) error
}

// Controller verifies the stored objects: at its start, when one changes, and at an interval. It
// deletes expired exceptions and, with Enforce, rejected ones.
//
// The expiry alone is a reason to delete an exception only if its signature verifies in every other
// respect: then the signer has set the expiry. Anybody can write the expiry of an exception that
// does not verify, so such an exception is only reported. Objects of other kinds are never deleted.
//
// Each kind has its own [checker], and the reports are written beside them: nothing waits for a kind
// or for a report that cannot be read or written.
//
// Only the guard that holds the lease runs the controller. All its state is read from the cluster,
// so the next holder of the lease reaches the same findings.
type Controller struct {
	Store   Store
	Rules   *Current
	Cluster string
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

	running   sync.WaitGroup // of Run
	mu        sync.Mutex
	checkers  map[exception.GroupKind]*checker
	changed   bool          // a finding has changed since the last report
	reporting bool          // a report is being written
	deleting  int           // checkers that wait for deletions; a report waits for them
	began     time.Time     // of Run
	measured  time.Time     // when the metrics were last changed
	reported  time.Time     // when the last report was begun
	took      time.Duration // the duration of the last report
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
	c.notify(id.GroupKind, func(k *checker) { k.dirty[id] = true })
}

// Renew records that all objects of a kind have to be read again, because their contents may have
// changed unseen. It never blocks.
func (c *Controller) Renew(kind exception.GroupKind) {
	c.notify(kind, func(k *checker) { k.anew = true })
}

// notify changes the tasks of a checker and wakes it. A kind without a checker gets a new one, which
// checks all objects.
func (c *Controller) notify(kind exception.GroupKind, change func(*checker)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.checkers[kind]; k != nil {
		change(k)
		k.wake()
	}
}

// Run verifies the stored objects and deletes expired ones until the context ends.
func (c *Controller) Run(ctx context.Context) error {
	c.mu.Lock()
	c.checkers, c.changed, c.reporting, c.took = map[exception.GroupKind]*checker{}, false, false, 0
	c.began = c.Clock.Now()
	c.mu.Unlock()
	defer c.running.Wait()
	for ctx.Err() == nil {
		if rules := c.Rules.Rules(); rules != nil {
			c.start(ctx, rules.kinds)
		}
		pause(ctx, c.Clock, longest, nil)
	}
	return nil
}

// start starts the checkers of new kinds. A checker stays until Run ends.
func (c *Controller) start(ctx context.Context, kinds []exception.GroupKind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, kind := range kinds {
		if c.checkers[kind] == nil {
			k := &checker{
				Controller: c, kind: kind, woken: make(chan struct{}, 1), turns: make(chan struct{}, removedAtOnce),
				dirty: map[exception.Identity]bool{}, known: map[exception.Identity]*stored{}, expired: c.Clock.Now(),
			}
			c.checkers[kind] = k
			c.running.Go(func() { k.run(ctx) })
		}
	}
}

// pause waits for a time, or until it is woken.
func pause(ctx context.Context, clock clock.WithTicker, wait time.Duration, woken <-chan struct{}) {
	timer := clock.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-woken:
	case <-timer.C():
	}
}

// report publishes all findings: in the metrics, and in the reports, which it does not wait for. The
// first change of a series is published at once, and the others together. by has just ended a turn.
func (c *Controller) report(ctx context.Context, by *checker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	by.begun, c.changed, by.news = true, c.changed || by.news, false
	now := c.Clock.Now()
	mayReport := !c.reporting && passed(c.reported, now, c.rest())
	if !c.changed || c.deleting > 0 || !c.allBegun(now) {
		return
	}
	if !mayReport && !passed(c.measured, now, betweenReports) {
		return
	}
	var all []*Finding
	for _, k := range c.checkers {
		for _, s := range k.known {
			all = append(all, new(s.finding))
		}
	}
	c.Metrics.count(all)
	c.measured = now
	if !mayReport {
		return // a later turn reports
	}
	c.changed, c.reporting, c.reported = false, true, now
	c.running.Go(func() {
		err := c.Tell.Report(ctx, all)
		c.Metrics.written.WithLabelValues().Set(number(err == nil))
		if err != nil {
			c.Tell.Failed(ctx, "write the reports", err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.reporting, c.took, c.changed = false, c.Clock.Since(now), c.changed || err != nil
		for _, k := range c.checkers {
			if c.changed {
				k.wake() // it computes its pause again
			}
		}
	})
}

func (c *Controller) deletes(more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deleting += more
}

// allBegun reports whether the first findings of all kinds are known, or one of them takes too long.
func (c *Controller) allBegun(now time.Time) bool {
	const firstReport = 10 * time.Second // the longest time in which the first report waits for all kinds
	for _, k := range c.checkers {
		if !k.begun {
			return passed(c.began, now, firstReport)
		}
	}
	return true
}

// passed reports whether a time is long ago. A time in the future means that the clock was set back.
func passed(before, now time.Time, long time.Duration) bool {
	ago := now.Sub(before)
	return ago >= long || ago < 0
}

// rest is the shortest time between two reports.
func (c *Controller) rest() time.Duration {
	return max(betweenReports, min(restsFor*c.took, longestRetry))
}

// lookedAt records that all objects of a kind have been checked. The metric is the time of the kind
// that was checked first, so it stands still if one of them cannot be.
func (c *Controller) lookedAt(k *checker, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k.looked = at
	for _, kind := range k.rules.kinds {
		other := c.checkers[kind]
		if other == nil || other.looked.IsZero() {
			return
		}
		if other.looked.Before(at) {
			at = other.looked
		}
	}
	c.Metrics.lookedAt.Set(float64(at.Unix()))
}

// ErrGone means that the object does not exist, or that another one has its name.
var ErrGone = errors.New("it is gone")

// ErrNotServed means that the API server does not serve the version.
var ErrNotServed = errors.New("the API server does not serve it")

// ErrHeld means that the object is being deleted, and finalizers keep it.
var ErrHeld = errors.New("its finalizers keep it")

// State identifies one state of one stored object.
type State struct{ UID, ResourceVersion string }

// Object is a stored object in one version.
type Object struct {
	State
	Identity exception.Identity
	Version  string
	Dying    bool // its deletion was requested, and finalizers keep it
	// Document is nil if the object cannot be read; Unreadable is then the error.
	Document   *exception.Document
	Unreadable error
}

// Store reads and deletes the stored objects. internal/guard/cluster implements it with an API
// server. It is safe for concurrent use.
type Store interface {
	// States returns the last known states of all objects of a kind, and whether changes of them are
	// seen. It does not wait. A kind that is not served has no objects.
	States(kind exception.GroupKind) (states map[exception.Identity]State, watched bool)
	// Scan passes all objects of a kind, in any version, to show one by one. It keeps none.
	Scan(ctx context.Context, kind exception.GroupKind, show func(*Object)) error
	// Read reads an object in a version; "" is any. It returns [ErrGone] or [ErrNotServed], or a
	// non-nil object. With another error, the object has its last known state and no document.
	Read(ctx context.Context, id exception.Identity, version string) (*Object, error)
	// Delete deletes an object only in this state, or in any state if the state has no resource
	// version. It deletes in the background, so dependents do not delay it. It returns [ErrGone]
	// for an object in another state, and [ErrHeld] for one that finalizers keep.
	Delete(ctx context.Context, id exception.Identity, state State) error
}
