package guard

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// Tell is who is told what the keeper finds and does.
type Tell interface {
	// Found is told of an object that is judged otherwise than before.
	Found(ctx context.Context, f *Finding)
	// Removed is told of an object that was deleted, and why.
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
	reported time.Time // when the last report was made, or tried
	rules    *Rules    // the findings are by these
	commit   *Commit   // and by this one; nil when it is not known
	// And by these; nil when they are not known.
	conversions *Conversions
}

// longest is the longest that the keeper waits without looking at the clock: a
// clock may be set, and what has expired then has expired.
const longest = time.Second

// betweenReports is how long there is at least between two reports. Each is written
// whole, and thousands of changes may come in a row.
const betweenReports = time.Second

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
		wait = min(wait, k.reported.Add(betweenReports).Sub(now))
	}
	return max(wait, time.Millisecond)
}

// lookAtAll looks at everything, and forgets what is not there. It reports
// whether it could.
func (k *Keeper) lookAtAll(ctx context.Context) bool {
	if k.rules == nil {
		return true // there is nothing to judge by
	}
	ids, err := k.Store.Identities(ctx, k.rules.kinds)
	if err != nil {
		k.Tell.Failed(ctx, "list what is stored", err)
		return false
	}
	there := map[exception.Identity]bool{}
	for _, id := range ids {
		there[id] = true
	}
	for id := range k.findings {
		if !there[id] {
			k.forget(id)
		}
	}
	for _, id := range ids {
		if ctx.Err() != nil {
			return false
		}
		k.look(ctx, id)
		k.expire(ctx) // which must not wait for thousands
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

// look judges one object, and plans when its time comes.
func (k *Keeper) look(ctx context.Context, id exception.Identity) {
	known, err := k.Store.Known(ctx, id)
	if errors.Is(err, ErrGone) {
		k.forget(id)
		return
	}
	if err == nil {
		known, err = inItsVersion(ctx, k.Store, id, known)
	}
	if errors.Is(err, ErrGone) {
		k.forget(id)
		return
	}
	if err != nil {
		k.Tell.Failed(ctx, "read "+id.String(), err)
		return
	}
	f := k.judged(id, known)
	if before := k.findings[id]; f.continues(before) {
		f.Since = before.Since
	}
	if !f.sameAs(k.findings[id]) {
		k.changed = true
		k.Tell.Found(ctx, f)
	}
	k.findings[id] = f
	k.plan(f)
	if k.Enforce && id.IsException() && removable(f.Reason) && f.Reason != string(verify.ReasonExpired) && k.Clock.Now().Sub(f.Since) >= k.Every {
		k.remove(ctx, id, known)
	}
}

// judged is what is to be said of an object.
func (k *Keeper) judged(id exception.Identity, o *Object) *Finding {
	now := k.Clock.Now()
	f := &Finding{Decision: Decision{UID: o.UID, Object: id}, Version: o.Document.Version(), Since: now}
	if o.Document.Text("metadata", "deletionTimestamp") != "" {
		f.answer(ReasonDeleting, verify.Facts{}, nil)
		return f
	}
	j := judge{rules: k.rules, cluster: k.Cluster, commit: k.commit, definitions: k.Definitions != nil, conversions: k.conversions, now: now}
	facts, err := j.stored(o.Document)
	f.answer(ReasonVerified, facts, err)
	if f.Facts.ExpiresAt.IsZero() {
		f.Facts = facts
	}
	return f
}

// plan puts an exception where its time comes: the end that was signed, or the
// beginning of one that is still to come, when it is looked at again.
func (k *Keeper) plan(f *Finding) {
	var at, end time.Time
	switch f.Reason {
	case ReasonVerified, ReasonUnknownToGit, ReasonConversion, string(verify.ReasonExpired):
		at, end = f.Facts.ExpiresAt, f.Facts.ExpiresAt
	case string(verify.ReasonNotYetValid):
		at, end = f.Facts.StartsAt, f.Facts.ExpiresAt
	}
	k.expiries.set(f.Object, at)
	if f.Object.IsException() { // nothing else is deleted when it ends
		k.ends.set(f.Object, end)
	}
	k.Metrics.nextExpiry(k.ends.next())
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
	var all []*Finding
	for _, f := range k.findings {
		all = append(all, f)
	}
	k.Metrics.found(all)
	if err := k.Tell.Report(ctx, all); err != nil {
		k.Tell.Failed(ctx, "write the reports", err)
		return // and again in a while
	}
	k.changed = false
}

// mayReport says whether the last report was long enough ago, or by a clock that was
// set since.
func (k *Keeper) mayReport(now time.Time) bool {
	ago := now.Sub(k.reported)
	return ago >= betweenReports || ago < 0
}
