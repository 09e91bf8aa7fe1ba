package adopt

import (
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/expect"
)

// TestSpread: expiries are on weekdays at 12:00 UTC, in order, within the window and spread over it.
func TestSpread(t *testing.T) {
	const day = 24 * time.Hour
	for start := range 14 {
		now := time.Date(2026, 3, 1+start, 20*start%24, 15, 0, 0, time.UTC)
		for _, window := range []struct{ first, last time.Duration }{{30 * day, 90 * day}, {7 * day, 14 * day},
			{30 * day, 33 * day}} {
			ends := spread(100, now, window.first, window.last)
			distinct := map[time.Time]bool{}
			for i, end := range ends {
				distinct[end] = true
				switch {
				case end.Hour() != 12 || end.Minute() != 0 || end.Location() != time.UTC:
					t.Errorf("%s is not 12:00 UTC", end)
				case end.Weekday() == time.Saturday || end.Weekday() == time.Sunday:
					t.Errorf("%s is a %s", end, end.Weekday())
				case end.After(now.Add(window.last)):
					t.Errorf("%s is after the last", end)
				case end.Before(now.Add(window.first)) && window.last-window.first > 3*day:
					t.Errorf("%s is before the first", end)
				case i > 0 && end.Before(ends[i-1]):
					t.Errorf("%s is before the one before it", end)
				}
			}
			want := int(window.last-window.first) / int(day) / 2
			expect.That(t, len(distinct) >= want, "100 ends are %d days, want at least %d", len(distinct), want)
		}
	}
	if ends := spread(1, time.Date(2026, 1, 7, 0, 0, 0, 0, time.UTC), 30*day,
		90*day); !ends[0].Equal(time.Date(2026, 2, 6,
		12, 0, 0, 0, time.UTC)) {
		t.Errorf("the only one ends at %s", ends[0])
	}
	expect.That(t, len(spread(0, time.Now(), day, day)) == 0, "none has an end")
}

// TestRepository: all forms of an address give the same name.
func TestRepository(t *testing.T) {
	for _, url := range []string{"https://github.com/Acme/x.git", "https://user:secret@github.com/acme/x/",
		"git@github.com:acme/x.git", "ssh://git@github.com:22/acme/x", "ssh://git@github.com/acme/x.git"} {
		got := repositoryOf(url)
		expect.That(t, strings.EqualFold(got, "github.com/acme/x"), "%s: %s", url, got)
	}
}
