package lifetime

import (
	"fmt"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// The forms of the label in which Kyverno reads a time, in UTC (its api/kyverno,
// ValueTtlDateTimeLayout and ValueTtlDateLayout).
const (
	ttlForm    = "2006-01-02T150405Z"
	ttlDayForm = "2006-01-02"
)

// FormatTTL writes an end as the label [exception.LabelTTL], in UTC. A label knows
// whole seconds: of one that has begun it is the end, so that nothing is deleted
// that still counts.
func FormatTTL(end time.Time) string { return wholeSecond(end).Format(ttlForm) }

// wholeSecond is the end in UTC, or the next whole second.
func wholeSecond(end time.Time) time.Time {
	whole := end.UTC().Truncate(time.Second)
	if whole.Before(end) {
		whole = whole.Add(time.Second)
	}
	return whole
}

// checkTTL refuses a label that has Kyverno delete the exception at another time
// than the one at which it ends, or where it says no end. One that counts a duration
// counts from when the object was created: whoever restores the object from a backup,
// or creates it anew, would have it live longer than what was signed.
func checkTTL(e *exception.Exception, l Lifetime) error {
	said := e.TTL.Text
	switch {
	case said == "" && e.TTL.Other == exception.EmptyText:
		return nil // Kyverno does nothing for it
	case said == "":
		return checkText(e.TTL)
	case !l.ExpiresAt.IsZero():
		for _, form := range []string{ttlForm, ttlDayForm} {
			if at, err := time.Parse(form, said); err == nil && at.Equal(wholeSecond(l.ExpiresAt)) {
				return nil
			}
		}
		return &Error{Path: e.TTL.Path,
			Message: fmt.Sprintf("the label says %q, and the exception ends at %s", said, e.ExpiresAt.Text),
			Hint:    "remove the label, or write it as " + FormatTTL(l.ExpiresAt)}
	case l.ExpiresIn > 0:
		return &Error{Path: e.TTL.Path,
			Message: fmt.Sprintf("the label says %q, and the exception ends %s after it is signed", said, e.ExpiresIn.Text),
			Hint:    "remove the label; lifetime.ttlLabel in the configuration has it written when the exception is signed"}
	}
	return &Error{Path: e.TTL.Path,
		Message: fmt.Sprintf("the label says %q, and the exception does not say when it ends", said),
		Hint:    "remove the label, and say the end in the annotation " + exception.AnnotationExpiresAt}
}
