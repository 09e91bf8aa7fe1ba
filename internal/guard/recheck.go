package guard

import (
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// look reads an object in a version and judges it; "" is any version. It reports whether the object
// could be read.
func (c *checker) look(ctx context.Context, id exception.Identity, version string) bool {
	o, err := c.Store.Read(ctx, id, version)
	if errors.Is(err, ErrGone) {
		c.forget(id)
		return true
	}
	if err == nil {
		c.show(ctx, o)
		return true
	}
	before := c.finding(id)
	if before != nil && before.rules == c.rules && before.reading == c.reading && before.state == o.State {
		c.record(ctx, *before, before)
	} else {
		c.show(ctx, &Object{State: o.State, Identity: id, Version: o.Version, Unreadable: err})
	}
	c.postpone(ctx, c.known[id], "read", err)
	return false
}

// show judges an object, reports a new finding, and plans the next action.
func (c *checker) show(ctx context.Context, o *Object) {
	before := c.finding(o.Identity)
	if before != nil && before.UID != o.UID && before.UID != "" {
		c.forget(o.Identity) // another object has the same name now
		before = nil
	}
	f, err := c.judged(ctx, o, before)
	if errors.Is(err, ErrGone) {
		c.forget(o.Identity)
		return
	}
	c.record(ctx, *f, before)
	if o.Unreadable == nil {
		c.known[o.Identity].failures = 0
	}
}

// record stores the finding of an object.
func (c *checker) record(ctx context.Context, f Finding, before *Finding) {
	other := c.definition.otherwise(c.kind)
	f.complete(other)
	if f.Since = c.Clock.Now(); before != nil && before.Reason == f.Reason && before.UID == f.UID {
		f.Since = before.Since // the same problem
	}
	differs := !f.sameAs(before)
	if differs {
		c.Tell.Found(ctx, &f)
	}
	// The author of an exception is not responsible for a failed conversion.
	unreadable := f.Reason == ReasonUnreadable && other != ""
	mayRemove := c.Enforce && f.Object.IsException() && removable(f.Reason) && !unreadable
	f.remove = f.waits && f.Object.IsException() ||
		mayRemove && f.Reason != verify.ReasonExpired && c.Clock.Now().Sub(f.Since) >= c.Every
	c.plan(c.keep(f, differs))
}

// judged returns the finding of an object.
func (c *checker) judged(ctx context.Context, o *Object, before *Finding) (*Finding, error) {
	now := c.Clock.Now()
	f := &Finding{
		Decision: Decision{UID: o.UID, Object: o.Identity}, Version: o.Version, state: o.State,
		rules: c.rules, reading: c.reading, asOf: now, dying: o.Dying,
	}
	if o.Unreadable != nil {
		if before != nil {
			f.Facts, f.kept = before.Facts, before.kept // its expiry is known
		}
		f.reject(ReasonUnreadable, o.Unreadable.Error())
		f.turns = now // the next attempt may give another result
		return f, nil
	}
	doc := o.Document
	if o.Dying {
		f.waits = waitsForDependents(doc)
		doc = beforeDeletion(doc)
	}
	f.kept = kyverno.KeepsDeleted(doc)
	facts, err := c.judge(ctx, o, doc)
	if errors.Is(err, ErrGone) {
		return nil, err
	}
	f.answer(ReasonVerified, facts, err)
	switch {
	case err != nil:
	case o.Dying:
		f.sound = StateDeleting
	default:
		f.sound = ReasonVerified
	}
	f.turns = f.turning()
	return f, nil //nolint:nilerr // the finding has the rejection
}

// turning returns the time when the same rules give another verdict on the same content.
func (f *Finding) turning() time.Time {
	switch f.Reason {
	case verify.ReasonExpired:
		return time.Time{}
	case verify.ReasonNotYetValid:
		return f.Facts.StartsAt
	case verify.ReasonSignedInFuture, ReasonUndecided, ReasonUnreadable:
		return f.asOf // check again every time
	default:
		return f.Facts.ExpiresAt
	}
}

// judge judges the version that the API server returned. If another version was signed, it judges
// that one. An exception that cannot be read in the signed version still expires.
func (c *checker) judge(ctx context.Context, o *Object, doc *exception.Document) (verify.Facts, error) {
	j := judge{rules: c.rules, cluster: c.Cluster, now: c.Clock.Now()}
	facts, err := j.stored(doc)
	var rejected *verify.Rejected
	if !errors.As(err, &rejected) || rejected.Reason != verify.ReasonAltered {
		return facts, err
	}
	// The signatures verify, so the version that the message names can be trusted.
	message, _ := messageOf(doc)
	if message == nil || message.Identity() != o.Identity ||
		slices.Contains([]string{"", o.Version}, message.Version()) {
		return facts, err
	}
	version := message.Version()
	signed, failure := c.Store.Read(ctx, o.Identity, version)
	switch {
	case errors.Is(failure, ErrGone):
		return facts, failure
	case failure == nil && signed.Unreadable != nil:
		failure = signed.Unreadable
	case failure == nil && signed.UID != o.UID:
		return facts, ErrGone // the news of the other object will follow
	case failure == nil:
		if signed.Dying {
			return j.stored(beforeDeletion(signed.Document))
		}
		return j.stored(signed.Document)
	}
	verified, err := j.signedMessage(doc, o.Identity)
	if err != nil {
		return facts, err
	}
	detail := "it was signed as version " + version + ", which cannot be read: " + failure.Error()
	return facts, &verify.Rejected{Reason: ReasonUnreadable, Detail: detail, Facts: verified.Facts()}
}

// beforeDeletion returns an object as it was before its deletion began, because Kyverno applies it until
// it is gone. The API server has added a deletion time, a grace period and a finalizer for the
// deletion policy, and controllers remove other finalizers one by one.
func beforeDeletion(doc *exception.Document) *exception.Document {
	tree := doc.Object()
	metadata, _ := tree["metadata"].(map[string]any)
	delete(metadata, "deletionTimestamp")
	delete(metadata, "deletionGracePeriodSeconds")
	delete(metadata, "finalizers")
	if message, _ := messageOf(doc); message != nil && metadata != nil {
		if signed := finalizers(message); signed != nil {
			metadata["finalizers"] = slices.Clone(signed)
		}
	}
	before, err := exception.FromObject(tree)
	if err != nil {
		return doc
	}
	return before
}

// waitsForDependents reports whether the deletion of an object waits for the garbage collector. A
// user who may only create ConfigMaps can hold it up with a dependent that a finalizer keeps, and
// Kyverno applies the exception until it is gone. A deletion in the background waits for nothing.
func waitsForDependents(doc *exception.Document) bool {
	return slices.ContainsFunc(finalizers(doc), func(f any) bool {
		return f == metav1.FinalizerDeleteDependents || f == metav1.FinalizerOrphanDependents
	})
}

// plan sets the next action on an exception: its expiry, or its start if that is still to come.
func (c *checker) plan(s *stored) {
	f := s.finding
	at, now := f.Facts.ExpiresAt, c.Clock.Now()
	switch {
	case f.remove:
		at = now
	case f.Reason == verify.ReasonNotYetValid:
		at = f.Facts.StartsAt
	case !at.After(now) && !f.hasEnded(c.rules, now):
		at = time.Time{}
	}
	s.due = at
}
