package shape

import (
	"strings"
	"unicode/utf8"
)

// meter bounds the work that one document can ask for. Patterns, and the names
// that they are held against, may both come from whoever wrote the pull request.
type meter struct{ left int }

// maxSteps is far beyond what a real exception needs, and takes a fraction of a
// second.
const maxSteps = 20_000_000

func newMeter() *meter { return &meter{left: maxSteps} }

// spend takes steps off the meter and reports whether there were that many.
func (m *meter) spend(steps int) bool {
	m.left -= steps
	return m.left >= 0
}

// spent reports whether the work was cut short.
func (m *meter) spent() bool { return m.left < 0 }

// fits reports whether a text fits a pattern as Kyverno matches it, letter case
// included: "*" is any text, "?" any one character. When the meter is spent,
// nothing fits.
func (m *meter) fits(pattern, text string) bool {
	if !m.spend(1) {
		return false
	}
	if !hasWildcard(pattern) {
		return pattern == text
	}
	p, t := 0, 0
	star, resume := -1, 0 // the last "*", and where the text goes on after it
	for t < len(text) {
		if !m.spend(1) {
			return false
		}
		_, width := utf8.DecodeRuneInString(text[t:])
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, t
			p++
		case p < len(pattern) && pattern[p] == '?':
			p++
			t += width
		case p < len(pattern) && strings.HasPrefix(pattern[p:], text[t:t+width]):
			p += width
			t += width
		case star >= 0:
			_, skipped := utf8.DecodeRuneInString(text[resume:])
			resume += skipped
			p, t = star+1, resume
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// fitsAny reports whether a text fits one of the patterns.
func (m *meter) fitsAny(patterns []string, text string) bool {
	for _, p := range patterns {
		if m.fits(p, text) {
			return true
		}
	}
	return false
}
