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

// parseTTL reads the label by which Kyverno deletes the exception. It refuses a duration,
// which counts from the creation of the object: an exception that is restored from a backup,
// or created again by a GitOps tool, would outlive the expiry that was signed.
func parseTTL(s exception.Statement) (time.Time, error) {
	if s.Other == exception.EmptyText {
		return time.Time{}, nil // Kyverno does nothing for it
	}
	if err := checkText(s); err != nil || s.Text == "" {
		return time.Time{}, err
	}
	for _, form := range []string{ttlForm, ttlDayForm} {
		if at, err := time.Parse(form, s.Text); err == nil && at.Unix() > 0 {
			return at, nil
		}
	}
	return time.Time{}, &Error{Path: s.Path,
		Message: fmt.Sprintf("the label is %q; polex accepts an absolute time such as 2026-12-31T170000Z or 2026-12-31", s.Text),
		Hint:    "remove the label and add the annotation " + exception.AnnotationExpiresIn + ": 30d, which counts from the signing (polex adopt does this)"}
}
