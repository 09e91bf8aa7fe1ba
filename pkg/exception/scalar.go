package exception

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Forms of plain scalars. Kubernetes readers read other numbers differently, so agree rejects them.
var (
	decimalInt = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)$`)
	decimal    = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	// base60 matches numbers of YAML 1.1 that only readers outside Kubernetes know.
	base60    = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`)
	notFinite = regexp.MustCompile(`^[-+]?\.(inf|Inf|INF|nan|NaN|NAN)$`)
)

// plainScalar returns the value of a plain (unquoted) YAML scalar. If problem is not empty, the
// scalar is rejected.
func plainScalar(text string) (value any, problem string) {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return nil, ""
	case "true", "True", "TRUE":
		return true, ""
	case "false", "False", "FALSE":
		return false, ""
	case "<<":
		return nil, "is a merge key"
	}
	if len(text) <= len("false") {
		switch strings.ToLower(text) {
		case "y", "n", "yes", "no", "on", "off", "true", "false":
			return nil, "is a boolean in YAML 1.1 and text in YAML 1.2"
		}
	}
	if c := text[0]; (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' {
		return text, ""
	}
	return number(text)
}

// quoteHint returns the hint for a plain scalar that readers of YAML understand differently.
func quoteHint(value string) string {
	switch strings.ToLower(value) {
	case "y", "yes", "on", "true":
		return fmt.Sprintf(`write %q if it is text, true if it is a boolean`, value)
	case "n", "no", "off", "false":
		return fmt.Sprintf(`write %q if it is text, false if it is a boolean`, value)
	case "<<":
		return "write out the keys that it merges"
	}
	return fmt.Sprintf(`write %q if it is text, a decimal number if it is a number`, value)
}

func number(text string) (value any, problem string) {
	switch {
	case decimalInt.MatchString(text):
		return integer(text)
	case decimal.MatchString(text) && !leadingZero(text):
		return float(text)
	case notFinite.MatchString(text):
		return nil, "is not a number that JSON has"
	case base60.MatchString(text):
		return nil, "is a number in base 60 in YAML 1.1 and text in YAML 1.2"
	default:
		return text, ""
	}
}

// leadingZero reports whether a number is like 007 or 010.5.
func leadingZero(text string) bool {
	digits := strings.TrimLeft(text, "-+")
	return len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9'
}

// integer rejects numbers beyond 64 bits. The API server would keep them as floats and lose digits.
func integer(text string) (any, string) {
	i, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, "does not fit a 64-bit integer"
	}
	return i, ""
}

func float(text string) (any, string) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, "does not fit a 64-bit number"
	}
	return f, ""
}

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
