package lifetime

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

var (
	durationForm = regexp.MustCompile(`^(?:(\d{1,5})w)?(?:(\d{1,5})d)?(?:(\d{1,6})h)?(?:(\d{1,7})m)?(?:(\d{1,9})s)?$`)
	units        = []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second}
)

// ParseDuration parses a positive duration such as 4h, 7d, 2w or 1d12h: whole numbers of weeks,
// days (of 24 hours), hours, minutes and seconds, the longer unit first. Zero, a sign, a fraction,
// an unknown unit or more than 290 years is an error.
func ParseDuration(text string) (time.Duration, error) {
	m := durationForm.FindStringSubmatch(text)
	if m == nil || text == "" {
		if short := shortened(text); short != "" && short != text {
			if _, err := ParseDuration(short); err == nil {
				return 0, fmt.Errorf("%q is not a duration: write %s", text, short)
			}
		}
		return 0, fmt.Errorf("%q is not a duration such as 4h, 7d, 2w or 1d12h", text)
	}
	var total time.Duration
	for i, unit := range units {
		if m[i+1] == "" {
			continue
		}
		n, err := strconv.ParseInt(m[i+1], 10, 64)
		if err != nil || n > int64((math.MaxInt64-total)/unit) {
			return 0, fmt.Errorf("%q is longer than 290 years", text)
		}
		total += time.Duration(n) * unit
	}
	if total == 0 {
		return 0, fmt.Errorf("%q is zero or negative", text)
	}
	return total, nil
}

// longUnits are other ways to write the units of a duration, such as "1 week" and P7D (ISO 8601).
var longUnits = regexp.MustCompile(
	`(?i)^p|(\d+)t?\s*(w|d|h|m|s)(eeks?|ays?|ours?|rs?|in(?:ute)?s?|ec(?:ond)?s?)?(?:$|[\s,]+(?:and\s+)?|t)`)

// shortened returns a duration with the units of [ParseDuration], or a text that is none.
func shortened(text string) string {
	if len(text) > 40 {
		return ""
	}
	return strings.ToLower(longUnits.ReplaceAllString(text, "$1$2"))
}

// FormatDuration writes a duration for [ParseDuration], in days, hours, minutes and seconds. It
// drops fractions of a second.
func FormatDuration(d time.Duration) string {
	out := ""
	for i, suffix := range []string{"w", "d", "h", "m", "s"} {
		if i == 0 && d < 100_000*units[1] {
			continue // people write 45d; weeks are only for more days than ParseDuration accepts
		}
		if n := d / units[i]; n > 0 {
			out += strconv.FormatInt(int64(n), 10) + suffix
			d -= n * units[i]
		}
	}
	if out == "" {
		return "0s"
	}
	return out
}

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
