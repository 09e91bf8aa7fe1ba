package wildcard

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/expect"
)

func TestCommon(t *testing.T) {
	for _, tc := range []struct{ a, b, want string }{
		{"web", "web", "web"}, {"web", "Web", ""}, {"web", "w*", "web"}, {"?eb", "web", "web"}, {"w*", "*b", "wanyb"}, {"web-*", "*", "web-any"}, {"web-?", "web-*", "web-x"},
		{"web-*", "api-*", ""}, {"a*", "?", ""}, {"ab?", "a?c", ""}, {"*-db", "*-api", ""}, {"", "*", ""}, {"*web*", "*api*", ""},
	} {
		got, found := NewMeter().Common(tc.a, tc.b)
		expect.That(t, (!found || got == tc.want) && found == (tc.want != "" || tc.a == ""),
			"common(%q, %q) = %q, %v", tc.a, tc.b, got, found)
	}
}

// FuzzCommon: a common text matches both patterns. It is always found if one of them is a text.
func FuzzCommon(f *testing.F) {
	f.Add("a*b", "?c*b")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > 30 || len(b) > 30 {
			return
		}
		text, found := NewMeter().Common(a, b)
		expect.That(t, !found || (NewMeter().Fits(a, text) && NewMeter().Fits(b, text)),
			"%q fits not both %q and %q", text, a, b)
		expect.That(t, In(b) || found == NewMeter().Fits(a, b), "common(%q, %q) is %v", a, b, found)
		expect.That(t, !found || Overlap(a, b), "%q fits %q and %q, which do not overlap", text, a, b)
	})
}

// TestMeter spends the whole meter: then nothing matches, and the work ends soon.
func TestMeter(t *testing.T) {
	work := NewMeter()
	slow := strings.Repeat("a", 2000) + "b"
	expect.That(t, !work.Fits("*"+slow+"*", strings.Repeat("a", 100_000)) && work.Spent(), "the work is not cut short")
	expect.That(t, !work.Fits("a", "a") && !work.FitsAny([]string{"a"}, "a"), "something fits after that")
}

// FuzzFits compares the matching of patterns with its definition.
func FuzzFits(f *testing.F) {
	f.Add("a*b?", "aXXbc")
	f.Add("*?é*", "éé")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 30 || len(text) > 30 || string([]rune(text)) != text || string([]rune(pattern)) != pattern {
			return
		}
		expect.Is(t, "fits", fits([]rune(pattern), []rune(text)), NewMeter().Fits(pattern, text))
	})
}
