package wildcard

import (
	"math"
	"strings"
)

// Only reports whether a pattern matches every name: it consists of "*" and "?" and has a "*".
func Only(pattern string) bool {
	return strings.Contains(pattern, "*") && strings.Trim(pattern, "*?") == ""
}

// In reports whether a pattern has a wildcard.
func In(pattern string) bool { return strings.ContainsAny(pattern, "*?") }

// Overlap reports whether a text exists that matches both patterns. Either may be a plain name. It
// ignores the case of letters, which is stricter than Kyverno. When the meter is spent, all
// patterns overlap.
func (m *Meter) Overlap(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	switch {
	case !In(a):
		return m.Fits(b, a) || m.Spent()
	case !In(b):
		return m.Fits(a, b) || m.Spent()
	case !startAlike(a, b):
		return false
	case !m.Spend(2 * len(a) * len(b)):
		return true
	}
	x, y := []rune(a), []rune(b)
	if len(x) < len(y) {
		x, y = y, x
	}
	// row[j] means that the rest of x and y[j:] overlap. The loop goes from the end of x to its
	// beginning.
	row, next := make([]bool, len(y)+1), make([]bool, len(y)+1)
	for i := len(x); i >= 0; i-- {
		row, next = next, row
		for j := len(y); j >= 0; j-- {
			switch {
			case i == len(x) && j == len(y):
				row[j] = true
			case i < len(x) && x[i] == '*':
				row[j] = next[j] || j < len(y) && row[j+1]
			case j < len(y) && y[j] == '*':
				row[j] = row[j+1] || i < len(x) && next[j]
			case i == len(x) || j == len(y):
				row[j] = false
			default:
				row[j] = (x[i] == y[j] || x[i] == '?' || y[j] == '?') && next[j+1]
			}
		}
	}
	return row[0]
}

// OverlapsAny returns the first of some patterns that overlaps with pattern.
func (m *Meter) OverlapsAny(pattern string, patterns []string) (string, bool) {
	for _, other := range patterns {
		if m.Overlap(pattern, other) {
			return other, true
		}
	}
	return "", false
}

// Overlap is [Meter.Overlap] without a limit. One of the texts has to be a setting or a constant.
// The time is the product of the lengths.
func Overlap(a, b string) bool { return (&Meter{Left: math.MaxInt}).Overlap(a, b) }

// OverlapsAny is [Meter.OverlapsAny] without a limit.
func OverlapsAny(pattern string, patterns []string) (string, bool) {
	return (&Meter{Left: math.MaxInt}).OverlapsAny(pattern, patterns)
}
