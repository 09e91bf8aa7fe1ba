package exception

import (
	"fmt"
	"regexp"
	"time"
)

// timeForm is stricter than time.Parse, which also accepts T7:00:00Z, 17:00:00,5Z, +24:00 and
// +23:60.
var timeForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// earliest is the first valid time. No exception or signature is older. So no valid time is Go's
// zero time, which means that there is none.
var earliest = time.Unix(0, 0)

// ParseTime reads a time in RFC 3339, section 5.6, such as 2026-12-31T17:00:00+01:00: two digits
// for hours, minutes and seconds, a dot before a fraction of a second, and an offset of less than
// 24 hours. A time before 1970 is an error.
func ParseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || !timeForm.MatchString(text) {
		return time.Time{}, fmt.Errorf("%q is not a time in RFC 3339", text)
	}
	if t.Before(earliest) {
		return time.Time{}, fmt.Errorf("%q is before 1970", text)
	}
	return t, nil
}
