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
	// patience is the longest that what failed waits to be tried again.
	patience = 15 * time.Second
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
func (k *Keeper) expire(ctx context.Context) {
	for ctx.Err() == nil {
		now := k.Clock.Now()
		var remove []*Finding
		looked := false
		for len(remove) < batch {
			id, at, some := k.expiries.next()
			if !some || now.Before(at) {
				break
			}
			f := k.findings[id]
			k.expiries.set(id, time.Time{})
			if f != nil && (f.doomed || f.hasEnded(k.rules, now)) {
				remove = append(remove, f)
				continue
			}
			k.look(ctx, id)
			looked = true
		}
		if len(remove) == 0 && !looked {
			return
		}
		k.remove(ctx, remove)
	}
}

// remove deletes objects, many at once.
func (k *Keeper) remove(ctx context.Context, all []*Finding) {
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
			outcomes[i] = k.Store.Delete(ctx, f.Object, state)
		})
	}
	group.Wait()
	for i, f := range all {
		k.removed(ctx, f, outcomes[i])
	}
}

// removed says what became of deleting an object in the state that it was judged in.
func (k *Keeper) removed(ctx context.Context, f *Finding, outcome error) {
	id := f.Object
	if errors.Is(outcome, ErrGone) {
		// It has changed, or is gone. What is deleted is what is there now, and only if
		// that is to be deleted.
		tried := k.failures[id] + 1
		k.look(ctx, id)
		if f := k.findings[id]; f != nil && (f.doomed || f.hasEnded(k.rules, k.Clock.Now())) {
			if k.failures[id] = tried; tried > 3 {
				k.expiries.set(id, k.Clock.Now().Add(contested))
			}
		}
		return
	}
	if f.hasEnded(k.rules, k.Clock.Now()) && f.Reason != verify.ReasonExpired {
		f = f.expired()
		k.findings[id], k.changed = f, true
	}
	if outcome != nil {
		k.failures[id]++
		k.postpone(ctx, id, "delete "+id.String(), outcome)
		return
	}
	k.Metrics.removed(f.Reason)
	k.Tell.Removed(ctx, f)
	k.forget(id)
}

// expired is what is known of an exception once its end has come.
func (f *Finding) expired() *Finding {
	ended := *f
	ended.answer("", f.Facts, &refusal{verify.ReasonExpired, "it expired at " + timestamp(f.Facts.ExpiresAt), f.Facts})
	ended.Since, ended.sound, ended.turns = f.Facts.ExpiresAt, "", time.Time{}
	return &ended
}

// postpone tries again, after longer and longer times.
func (k *Keeper) postpone(ctx context.Context, id exception.Identity, what string, err error) {
	k.Tell.Failed(ctx, what, err)
	at := k.Clock.Now().Add(min(time.Second<<min(max(k.failures[id]-1, 0), 10), patience))
	if planned := k.expiries.of[id]; planned == nil || at.Before(planned.at) {
		k.expiries.set(id, at)
	}
}
