package cli_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/command/cli"
)

// TestProgress: the number of an activity never becomes smaller, and nothing is shown in the first second.
func TestProgress(t *testing.T) {
	var out bytes.Buffer
	began := time.Now()
	p := cli.StartProgress(&out, "reading")
	for _, tc := range []struct {
		doing       string
		done, total int
		after       time.Duration
		want        string
	}{
		{"reading", 0, 0, 0, ""},
		{"reading", 0, 0, 12 * time.Second, "reading (12 s)"},
		{"reading", 4, 0, 12 * time.Second, "reading: 4 (12 s)"},
		{"reading", 3, 0, 13 * time.Second, "reading: 4 (13 s)"},
		{"verifying", 1, 9, 14 * time.Second, "verifying: 1 of 9 (14 s)"},
		{"verifying", 7, 9, 15 * time.Second, "verifying: 7 of 9 (15 s)"},
		{"verifying", 5, 9, 16 * time.Second, "verifying: 7 of 9 (16 s)"},
	} {
		p.Tell(tc.doing, tc.done, tc.total)
		if got := p.Line(began.Add(tc.after + 500*time.Millisecond)); got != tc.want {
			t.Errorf("after %s: %q, want %q", tc.after, got, tc.want)
		}
	}
	p.Stop()
	p.Stop()
	if out.Len() > 0 {
		t.Errorf("without a terminal: %q", out.String())
	}
}
