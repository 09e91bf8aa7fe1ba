package lifetime

import (
	"fmt"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// The forms of the label that Kyverno parses as a time, in UTC (its api/kyverno,
// ValueTtlDateTimeLayout and ValueTtlDateLayout).
const (
	ttlForm    = "2006-01-02T150405Z"
	ttlDayForm = "2006-01-02"
)

// FormatTTL returns an expiry as the label [exception.LabelTTL], in UTC. It rounds up to a whole
// second, so that Kyverno does not delete an exception that is still valid.
func FormatTTL(end time.Time) string { return wholeSecond(end).Format(ttlForm) }

// wholeSecond returns the time in UTC, rounded up to a whole second.
func wholeSecond(end time.Time) time.Time {
	whole := end.UTC().Truncate(time.Second)
	if whole.Before(end) {
		whole = whole.Add(time.Second)
	}
	return whole
}

// parseTTL parses the label for Kyverno's deletion. It rejects a duration, which starts at the
// creation of the object: an exception restored from a backup, or created again by a GitOps tool,
// would outlive its signed expiry.
func parseTTL(s exception.Statement) (time.Time, error) {
	if s.Other == exception.EmptyText {
		return time.Time{}, nil // Kyverno ignores an empty label
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
		Message: fmt.Sprintf("the label is %q; polex accepts an absolute time such as 2026-12-31T170000Z or 2026-12-31",
			s.Text),
		Hint: "remove the label and add the annotation " + exception.AnnotationExpiresIn +
			": 30d, which counts from the signing (polex adopt does this)"}
}
