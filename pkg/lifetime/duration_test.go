package lifetime_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/test/expect"
)

func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"4h": 4 * time.Hour, "7d": 7 * day, "2w": 14 * day, "1d12h": 36 * time.Hour, "90m": 90 * time.Minute, "1s": time.Second,
		"1w1d1h1m1s": 8*day + time.Hour + time.Minute + time.Second, "07d": 7 * day, "0d1h": time.Hour, "15000w": 15000 * 7 * day,
		// Zero means an error.
		"": 0, "0": 0, "0d": 0, "0w0d0h0m0s": 0, "7": 0, "d": 0, "-7d": 0, "+7d": 0, "1.5h": 0, "7 d": 0, " 7d": 0, "7d ": 0, "7d\n": 0,
		"7D": 0, "7y": 0, "7mo": 0, "1h1d": 0, "1d1d": 0, "7days": 0, "1e3s": 0, "٧d": 0, "100000d": 0, "1ms": 0, "inf": 0, "P7D": 0,
		"99999w": 0, "15250w99999d": 0, "15000w99999d": 0, "99999999999999999999s": 0,
	} {
		got, err := lifetime.ParseDuration(text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
}

// TestDurationSuggestion: an error about another way to write a duration names the right one.
func TestDurationSuggestion(t *testing.T) {
	for text, want := range map[string]string{
		"1 week": "1w", "2 weeks": "2w", "30 days": "30d", "7D": "7d", "P7D": "7d", "P1DT12H": "1d12h", "1 week, 2 days": "1w2d", "90 min": "90m",
		"1 day and 12 hours": "1d12h", " 7d ": "", "7": "", "1 month": "", "never": "", "1.5h": "", "${TTL}": "", "-7d": "", "7d7d": "", strings.Repeat("1 week ", 9): "",
	} {
		_, err := lifetime.ParseDuration(text)
		_, got, _ := strings.Cut(fmt.Sprint(err), "is not a duration: write ")
		expect.Is(t, text, want, got)
	}
}

// TestDurationOverflow: sums of the longest durations are positive or an error.
func TestDurationOverflow(t *testing.T) {
	for _, weeks := range []string{"", "15249w", "15250w", "15251w", "99999w"} {
		for _, days := range []string{"", "1d", "99999d"} {
			for _, rest := range []string{"1s", "999999h", "9999999m", "999999999s", "999999h9999999m999999999s"} {
				if got, err := lifetime.ParseDuration(weeks + days + rest); err == nil && got <= 0 {
					t.Errorf("%s: %s", weeks+days+rest, got)
				}
			}
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", 36 * time.Hour: "1d12h", 14 * 24 * time.Hour: "14d", 90 * 24 * time.Hour: "90d", 100_000 * 24 * time.Hour: "14285w5d", time.Millisecond: "0s", time.Hour + time.Millisecond: "1h",
	} {
		expect.Is(t, fmt.Sprintf("%d", d), want, lifetime.FormatDuration(d))
	}
}

// FuzzDuration: a duration stays the same after it is written and parsed.
func FuzzDuration(f *testing.F) {
	for _, text := range strings.Fields("4h 7d 2w 1d12h 99999w 15250w3d 0s") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := lifetime.ParseDuration(text)
		if err != nil {
			return
		}
		again, err := lifetime.ParseDuration(lifetime.FormatDuration(d))
		if d <= 0 || err != nil || again != d {
			t.Errorf("%q: %s, and again %s, %v", text, d, again, err)
		}
	})
}
