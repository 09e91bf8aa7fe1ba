package wildcard

import (
	"math"
	"strings"
	"unicode/utf8"
)

// Meter bounds the work that one document can ask for. Patterns, and the names
// that they are held against, may both come from whoever wrote the pull request.
type Meter struct {
	Left int // steps
}

// maxSteps is far beyond what a real exception needs, and takes a fraction of a
// second.
const maxSteps = 5_000_000

// NewMeter is for one document.
func NewMeter() *Meter { return &Meter{Left: maxSteps} }

// Spend takes steps off the meter and reports whether there were that many.
func (m *Meter) Spend(steps int) bool {
	m.Left -= steps
	return m.Left >= 0
}

// Spent reports whether the work was cut short.
func (m *Meter) Spent() bool { return m.Left < 0 }

// Fits reports whether a text fits a pattern as Kyverno matches it, letter case
// included: "*" is any text, "?" any one character. When the meter is spent,
// nothing fits.
func (m *Meter) Fits(pattern, text string) bool {
	if !m.Spend(1 + len(pattern)/16) {
		return false
	}
	if !In(pattern) {
		return pattern == text
	}
	p, t := 0, 0
	star, resume := -1, 0 // the last "*", and where the text goes on after it
	for t < len(text) {
		if !m.Spend(1) {
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

// Fits is [Meter.Fits] for one text or pattern that is short, so that the work needs no
// bound.
func Fits(pattern, text string) bool { return (&Meter{Left: math.MaxInt}).Fits(pattern, text) }

// FitsAny reports whether a text fits one of the patterns.
func (m *Meter) FitsAny(patterns []string, text string) bool {
	for _, p := range patterns {
		if m.Spent() {
			return false
		}
		if m.Fits(p, text) {
			return true
		}
	}
	return false
}

// Common returns a text that fits both patterns. It does not find one for every
// pair of patterns that has one, and what it finds is one.
func (m *Meter) Common(a, b string) (text string, found bool) {
	switch {
	case !m.Spend(1 + (len(a)+len(b))/16):
		return "", false
	case !In(a):
		return a, m.Fits(b, a)
	case !In(b):
		return b, m.Fits(a, b)
	case !startAlike(a, b):
		return "", false
	}
	for _, text := range []string{Filled(a), Filled(b), head(a) + "any" + tail(b), head(b) + "any" + tail(a), head(a) + tail(b), head(b) + tail(a)} {
		if m.Fits(a, text) && m.Fits(b, text) {
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

// Filled returns a text that fits a pattern.
func Filled(pattern string) string { return wildcardFiller.Replace(pattern) }

// head is what stands before a pattern's first "*", and tail what stands behind
// its last.
func head(pattern string) string {
	before, _, _ := strings.Cut(pattern, "*")
	return Filled(before)
}

func tail(pattern string) string { return Filled(pattern[strings.LastIndex(pattern, "*")+1:]) }
