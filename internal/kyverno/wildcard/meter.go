package wildcard

import (
	"math"
	"strings"
	"unicode/utf8"
)

// Meter limits the work for one document. The author of a pull request may write both the patterns
// and the names that they are compared with.
type Meter struct {
	Left int // steps
}

// maxSteps is much more than a real exception needs, and takes a fraction of a second.
const maxSteps = 5_000_000

// NewMeter returns a meter for one document.
func NewMeter() *Meter { return &Meter{Left: maxSteps} }

// Spend subtracts steps and reports whether enough were left.
func (m *Meter) Spend(steps int) bool {
	m.Left -= steps
	return m.Left >= 0
}

// Spent reports whether the steps have run out.
func (m *Meter) Spent() bool { return m.Left < 0 }

// Fits reports whether a text matches a pattern as in Kyverno. The case of letters counts. When the
// meter is spent, nothing matches.
func (m *Meter) Fits(pattern, text string) bool {
	if !m.Spend(1 + len(pattern)/16) {
		return false
	}
	if !In(pattern) {
		return pattern == text
	}
	p, t := 0, 0
	star, resume := -1, 0 // the last "*", and the place in the text where its search resumes
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

// Fits is [Meter.Fits] without a limit, for a short text or pattern.
func Fits(pattern, text string) bool { return (&Meter{Left: math.MaxInt}).Fits(pattern, text) }

// FitsAny reports whether a text matches one of the patterns.
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

// Common returns a text that matches both patterns. It does not find one in all cases, but a
// returned text always matches.
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
	for _, text := range []string{Filled(a), Filled(b), head(a) + "any" + tail(b), head(b) + "any" + tail(a),
		head(a) + tail(b), head(b) + tail(a)} {
		if m.Fits(a, text) && m.Fits(b, text) {
			return text, true
		}
	}
	return "", false
}

// startAlike compares the parts before the first wildcards. If it is false, no text matches both
// patterns.
func startAlike(a, b string) bool {
	a, b = a[:strings.IndexAny(a, "*?")], b[:strings.IndexAny(b, "*?")]
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// wildcardFiller replaces each wildcard with a text.
var wildcardFiller = strings.NewReplacer("*", "any", "?", "x")

// Filled returns a text that matches a pattern.
func Filled(pattern string) string { return wildcardFiller.Replace(pattern) }

// head is the text before the first "*" of a pattern, tail the text after the last one.
func head(pattern string) string {
	before, _, _ := strings.Cut(pattern, "*")
	return Filled(before)
}

func tail(pattern string) string { return Filled(pattern[strings.LastIndex(pattern, "*")+1:]) }
