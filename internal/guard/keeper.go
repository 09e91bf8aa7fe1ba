package guard

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/polex-dev/polex/pkg/exception"
)

// Tell is who is told what the keeper finds and does.
type Tell interface {
	// Found is told of an object that is judged otherwise than before.
	Found(ctx context.Context, f *Finding)
	// Removed is told of an object that the keeper deleted, and why.
	Removed(ctx context.Context, f *Finding)
	// Failed is told of what could not be done; it is tried again.
	Failed(ctx context.Context, what string, err error)
	// Report is told of everything that is known, whenever that has changed.
	Report(ctx context.Context, findings []*Finding) error
}

// Keeper looks again at what is stored: at start, whenever it changes, and at an
// interval. It deletes an exception when its time has come, and what must not be
// there if it is told to.
//
// An exception is deleted for its time alone when its seal verifies but for that:
// who signed it said when it ends. What cannot be verified might say anything, and
// is only told of. Other kinds are never deleted.
//
// It is for one at a time: whoever holds the lease runs it. What it knows it has
// read, so that the next one knows the same.
type Keeper struct {
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

	findings map[exception.Identity]*Finding
	expiries schedule // when something has to be done about which
	ends     schedule // of exceptions, whatever became of deleting them
	failures map[exception.Identity]int
	changed  bool
	reported time.Time     // when the last report was made, or tried
	took     time.Duration // by that
	rules    *Rules        // the findings are by these
	commit   *Commit       // and by this one; nil when it is not known
	// And by these; nil when they are not known.
	conversions *Conversions
}

// longest is the longest that the keeper waits without looking at the clock: a
// clock may be set, and what has expired then has expired.
const longest = time.Second

// There is at least betweenReports from one report to the next, and so many times as
// long as one took. Each is written whole, and thousands of changes may come in a row.
const (
	betweenReports = time.Second
	restsFor       = 50
)

// Touch says that an object was changed. It never waits.
func (k *Keeper) Touch(id exception.Identity) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dirty == nil {
		k.dirty = map[exception.Identity]bool{}
	}
	k.dirty[id] = true
	select {
	case k.waker() <- struct{}{}:
	default:
	}
}

func (k *Keeper) waker() chan struct{} {
	if k.wake == nil {
		k.wake = make(chan struct{}, 1)
	}
	return k.wake
}

// Run keeps the cluster until the context ends.
func (k *Keeper) Run(ctx context.Context) error {
	k.mu.Lock()
	wake := k.waker()
	k.mu.Unlock()
	k.findings, k.failures, k.expiries, k.rules = map[exception.Identity]*Finding{}, map[exception.Identity]int{}, schedule{}, nil
	k.ends, k.commit, k.conversions = schedule{}, nil, nil
	k.took = 0
	var again time.Time // when everything is looked at
	for ctx.Err() == nil {
		now := k.Clock.Now().Round(0) // the wall's time alone, which shows that the clock was set
		rules, commit, conversions := k.Rules.Rules(), k.Git.Commit(), k.Definitions.known()
		if rules != k.rules || commit != k.commit || conversions != k.conversions || !now.Before(again) || again.Sub(now) > k.Every {
			k.rules, k.commit, k.conversions = rules, commit, conversions
			again = now.Add(k.Every)
			if !k.lookAtAll(ctx) {
				again = now.Add(min(k.Every, patience))
			}
		}
		k.lookAtChanged(ctx)
		k.expire(ctx)
		k.report(ctx)

		timer := k.Clock.NewTimer(k.pause(again))
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
func (k *Keeper) pause(again time.Time) time.Duration {
	now := k.Clock.Now()
	wait := min(longest, again.Sub(now))
	if _, at, some := k.expiries.next(); some {
		wait = min(wait, at.Sub(now))
	}
	if k.changed {
		wait = min(wait, k.reported.Add(k.rest()).Sub(now))
	}
	return max(wait, time.Millisecond)
}

// fewAtOnce is how many objects are read one by one. More are read together.
const fewAtOnce = 16

// lookAtAll looks at everything, and forgets what is not there. What has not changed
// since it was judged by the same rules is not read again. It reports whether it could.
func (k *Keeper) lookAtAll(ctx context.Context) bool {
	if k.rules == nil {
		return true // there is nothing to judge by
	}
	there, err := k.Store.States(ctx, k.rules.kinds)
	if err != nil {
		k.Tell.Failed(ctx, "list what is stored", err)
		return false
	}
	for id := range k.findings {
		if _, is := there[id]; !is {
			k.forget(id)
		}
	}
	anew := map[exception.Identity]bool{}
	for id, state := range there {
		f := k.findings[id]
		if f == nil || f.state != state || !f.holds(k.rules, k.conversions, k.Clock.Now()) {
			anew[id] = true
			continue
		}
		again := *f
		k.settle(ctx, &again, f)
	}
	if len(anew) > fewAtOnce {
		err := k.Store.Scan(ctx, k.rules.kinds, func(o *Object) {
			if anew[o.Identity] && ctx.Err() == nil {
				delete(anew, o.Identity)
				k.show(ctx, o)
				k.expire(ctx) // which must not wait for thousands
			}
		})
		if err != nil {
			k.Tell.Failed(ctx, "read what is stored", err)
			return false
		}
	}
	for id := range anew {
		if ctx.Err() != nil {
			return false
		}
		k.look(ctx, id)
		k.expire(ctx)
	}
	k.Metrics.lookedAtAll(k.Clock.Now())
	return true
}

func (k *Keeper) lookAtChanged(ctx context.Context) {
	k.mu.Lock()
	dirty := k.dirty
	k.dirty = nil
	k.mu.Unlock()
	for id := range dirty {
		if k.rules != nil && ctx.Err() == nil {
			k.look(ctx, id)
			k.expire(ctx)
		}
	}
}

func (k *Keeper) forget(id exception.Identity) {
	if k.findings[id] == nil {
		return
	}
	delete(k.findings, id)
	delete(k.failures, id)
	k.expiries.set(id, time.Time{})
	k.ends.set(id, time.Time{})
	k.Metrics.nextExpiry(k.ends.next())
	k.changed = true
}

// report tells what stands where, once in a while: of many changes in a row, the
// first and what the others have come to.
func (k *Keeper) report(ctx context.Context) {
	now := k.Clock.Now()
	if !k.changed || !k.mayReport(now) {
		return
	}
	k.reported = now
	all := make([]*Finding, 0, len(k.findings))
	for _, f := range k.findings {
		all = append(all, f)
	}
	k.Metrics.found(all)
	err := k.Tell.Report(ctx, all)
	k.took = k.Clock.Since(now)
	if err != nil {
		k.Tell.Failed(ctx, "write the reports", err)
		return // and again in a while
	}
	k.changed = false
}

// mayReport says whether the last report was long enough ago, or by a clock that was
// set since.
func (k *Keeper) mayReport(now time.Time) bool {
	ago := now.Sub(k.reported)
	return ago >= k.rest() || ago < 0
}

// rest is how long there is to be until the next report.
func (k *Keeper) rest() time.Duration { return max(betweenReports, min(restsFor*k.took, patience)) }
