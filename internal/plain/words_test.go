package plain_test

import (
	"testing"

	"github.com/polex-dev/polex/internal/plain"
)

func TestCut(t *testing.T) {
	for _, tc := range []struct {
		text string
		most int
		want string
	}{{"äöü", 3, "äöü"}, {"äöüß", 3, "äö…"}, {"abc", 1, "…"}, {"abc", -4, "…"}, {"", 0, ""}} {
		if got := plain.Cut(tc.text, tc.most); got != tc.want {
			t.Errorf("%q in %d is %q, want %q", tc.text, tc.most, got, tc.want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 files", 1: "1 file", 2: "2 files"} {
		if got := plain.Count(n, "file", "files"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
