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
const maxSteps = 5_000_000

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
	if !m.spend(1 + len(pattern)/16) {
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
		if m.spent() {
			return false
		}
		if m.fits(p, text) {
			return true
		}
	}
	return false
}

// common returns a text that fits both patterns. It does not find one for every
// pair of patterns that has one, and what it finds is one.
func (m *meter) common(a, b string) (text string, found bool) {
	switch {
	case !m.spend(1 + (len(a)+len(b))/16):
		return "", false
	case !hasWildcard(a):
		return a, m.fits(b, a)
	case !hasWildcard(b):
		return b, m.fits(a, b)
	case !startAlike(a, b):
		return "", false
	}
	for _, text := range []string{filled(a), filled(b), head(a) + "any" + tail(b), head(b) + "any" + tail(a), head(a) + tail(b), head(b) + tail(a)} {
		if m.fits(a, text) && m.fits(b, text) {
			return text, true
		}
	}
	return "", false
}

// startAlike reports whether what stands before the first wildcard of one
// pattern begins what stands there in the other. If not, no text fits both.
func startAlike(a, b string) bool {
	a, b = a[:strings.IndexAny(a, "*?")], b[:strings.IndexAny(b, "*?")]
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// wildcardFiller puts a text for each wildcard.
var wildcardFiller = strings.NewReplacer("*", "any", "?", "x")

// filled returns a text that fits a pattern.
func filled(pattern string) string { return wildcardFiller.Replace(pattern) }

// head is what stands before a pattern's first "*", and tail what stands behind
// its last.
func head(pattern string) string {
	before, _, _ := strings.Cut(pattern, "*")
	return filled(before)
}

func tail(pattern string) string { return filled(pattern[strings.LastIndex(pattern, "*")+1:]) }
