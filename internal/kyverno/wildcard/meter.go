package wildcard

import (
	"fmt"
	"math"
	"regexp"
	"slices"
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
//
//go:noinline
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
//
//go:noinline
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

// Common returns a text that matches both patterns. It may find none where there is one.
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

// startAlike compares the parts before the first wildcards. If it is false, no text matches both patterns.
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

// Only reports whether a pattern matches every name: it consists of "*" and "?" and has a "*".
func Only(pattern string) bool {
	return strings.Contains(pattern, "*") && strings.Trim(pattern, "*?") == ""
}

// In reports whether a pattern has a wildcard.
//
//go:noinline
func In(pattern string) bool { return strings.ContainsAny(pattern, "*?") }

// Overlap reports whether a text exists that matches both patterns. Either may be a plain name. It ignores the case of
// letters, which is stricter than Kyverno. When the meter is spent, all patterns overlap.
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
	// row[j] means that the rest of x and y[j:] overlap. The loop goes from the end of x to its beginning.
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

// Names are names and patterns of a trusted file, such as a trust policy or a configuration. The
// case of letters counts. A pattern is compared part by part between slashes.
type Names []string

// NamespaceForm is the form of a namespace, or of a pattern of namespaces.
var NamespaceForm = regexp.MustCompile(`^[a-z0-9*?]([a-z0-9*?-]*[a-z0-9*?])?$`)

// Check returns an error for the first name in another form.
func (n Names) Check(form *regexp.Regexp) error {
	for _, name := range n {
		if !form.MatchString(name) {
			return fmt.Errorf("%q is neither a name nor a pattern, in which * is any text and ? any one character",
				name)
		}
	}
	return nil
}

// All reports whether "*" is among the names.
func (n Names) All() bool { return slices.Contains(n, "*") }

// Include reports whether a name is equal to one of these or matches one. Only "*" includes another pattern.
func (n Names) Include(name string) bool {
	return n.All() || !In(name) && slices.ContainsFunc(n, func(pattern string) bool {
		return slices.EqualFunc(strings.Split(pattern, "/"), strings.Split(name, "/"), Fits)
	})
}

// String lists the names.
func (n Names) String() string { return strings.Join(n, ", ") }
