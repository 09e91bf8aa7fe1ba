package guard

import (
	"context"
	"errors"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// patience is the longest that what failed waits to be tried again.
const patience = 15 * time.Second

// expire deletes the exceptions whose time has come by now.
func (k *Keeper) expire(ctx context.Context) {
	for ctx.Err() == nil {
		id, at, some := k.expiries.next()
		if !some || k.Clock.Now().Before(at) {
			return
		}
		k.expireOne(ctx, id)
	}
}

// expireOne reads the object anew and judges it anew: what is deleted is what is
// there now, in this very state, and only if its seal says that it has ended. It
// leaves the object planned for later or not at all, so that expire ends.
func (k *Keeper) expireOne(ctx context.Context, id exception.Identity) {
	planned := k.findings[id]
	o, err := k.Store.Read(ctx, id, planned.Version)
	if errors.Is(err, ErrGone) {
		k.forget(id)
		return
	}
	if err == nil {
		o, err = inItsVersion(ctx, k.Store, id, o)
	}
	if err != nil {
		k.postpone(ctx, id, "read "+id.String(), err)
		return
	}
	f := k.judged(id, o)
	if f.Reason != string(verify.ReasonExpired) || !id.IsException() {
		k.expiries.set(id, time.Time{})
		k.Touch(id) // to be judged as it is
		if at := f.Facts.ExpiresAt; at.After(k.Clock.Now()) {
			k.expiries.set(id, at)
		}
		return
	}
	if !f.sameAs(planned) {
		f.Since = k.Clock.Now()
		k.findings[id], k.changed = f, true
	}
	k.remove(ctx, id, o)
}

// remove deletes an object in the state that it was judged in.
func (k *Keeper) remove(ctx context.Context, id exception.Identity, o *Object) {
	f := k.findings[id]
	switch err := k.Store.Delete(ctx, id, o); {
	case errors.Is(err, ErrGone):
		// It has changed, or is gone, and the news of that is on its way.
		k.expiries.set(id, k.Clock.Now().Add(time.Second))
	case err != nil:
		k.postpone(ctx, id, "delete "+id.String(), err)
	default:
		k.Metrics.removed(f.Reason)
		k.Tell.Removed(ctx, f)
		k.forget(id)
	}
}

// postpone tries again, after longer and longer times.
func (k *Keeper) postpone(ctx context.Context, id exception.Identity, what string, err error) {
	k.Tell.Failed(ctx, what, err)
	wait := min(time.Second<<min(k.failures[id], 10), patience)
	k.failures[id]++
	k.expiries.set(id, k.Clock.Now().Add(wait))
}
