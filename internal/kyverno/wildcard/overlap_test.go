package wildcard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/expect"
)

func TestOverlap(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"", "", true}, {"", "*", true}, {"", "?", false}, {"a", "a", true}, {"a", "A", true}, {"a", "b", false}, {"a", "", false},
		{"a*", "*b", true}, {"a*c", "ab*", true}, {"a*c", "*d", false}, {"a?c", "abc", true}, {"a?c", "ac", false}, {"*", "**", true},
		{"?*?", "a", false}, {"?*?", "ab", true}, {"a*b*c", "*b*", true}, {"x*", "*y*z", true}, {"ab*", "a?c*", true}, {"ab*", "ac*", false}, {"ä*", "?b", true},
		{"*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
	} {
		expect.Is(t, fmt.Sprintf("overlap(%q, %q)", tc.a, tc.b), tc.want, Overlap(tc.a, tc.b))
		expect.Is(t, fmt.Sprintf("overlap(%q, %q)", tc.b, tc.a), tc.want, Overlap(tc.b, tc.a))
	}
}

// FuzzOverlap compares the overlap of a pattern and a text with the definition of a pattern.
func FuzzOverlap(f *testing.F) {
	f.Add("a*b?", "aXXbc")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if In(text) || len(pattern) > 30 || len(text) > 30 {
			return
		}
		p, s := []rune(strings.ToLower(pattern)), []rune(strings.ToLower(text))
		expect.Is(t, "overlap", fits(p, s), Overlap(pattern, text))
	})
}

func fits(pattern, text []rune) bool {
	// reach[i] reports whether the pattern so far matches text[:i].
	reach := make([]bool, len(text)+1)
	reach[0] = true
	for _, p := range pattern {
		next := make([]bool, len(text)+1)
		for i := range reach {
			switch {
			case !reach[i]:
			case p == '*':
				for j := i; j <= len(text); j++ {
					next[j] = true
				}
			case i < len(text) && (p == '?' || p == text[i]):
				next[i+1] = true
			}
		}
		reach = next
	}
	return reach[len(text)]
}
