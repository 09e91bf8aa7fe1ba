package retry_test

import (
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/retry"
)

// The wait between two tries: random within growing limits, plus the time that the server requests.
func TestWaits(t *testing.T) {
	usual := [][2]time.Duration{{250 * time.Millisecond, 500 * time.Millisecond}, {500 * time.Millisecond, time.Second}, {time.Second, 2 * time.Second}}
	const never = -1
	for _, tc := range []struct {
		name, after string
		asks        time.Duration
	}{
		{"nothing asked for", "", 0},
		{"seconds", "20", 20 * time.Second},
		{"the longest", "60", time.Minute},
		{"more than that", "61", never},
		{"far more than a number holds", "99999999999999999999", 0},
		{"far more than is waited for", "9999999999", 0},
		{"below nothing", "-5", 0},
		{"a time, by the server's own clock", "Fri, 20 Nov 2026 20:00:30 GMT", 30 * time.Second},
		{"a time that is over", "Fri, 20 Nov 2026 19:00:00 GMT", 0},
		{"a time in an hour", "Fri, 20 Nov 2026 21:00:00 GMT", never},
		{"a word", "soon", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			met := map[time.Duration]bool{}
			const runs = 10
			for range runs {
				r, s := rest{}, &server{answers: []answer{says(503, "", "Retry-After", tc.after, "Date", "Fri, 20 Nov 2026 20:00:00 GMT")}}
				if _, _, err := get(t, retry.Transport{Timing: retry.Timing{Sleep: r.sleep}, Next: s}, t.Context()); err == nil {
					t.Fatal("it passed")
				}
				if tc.asks == never {
					if len(r.waits) > 0 {
						t.Fatalf("waited %v", r.waits)
					}
					continue
				}
				if len(r.waits) != len(usual) {
					t.Fatalf("waited %v", r.waits)
				}
				for i, wait := range r.waits {
					met[wait] = true
					if chance := wait - tc.asks; chance < usual[i][0] || chance > usual[i][1] {
						t.Errorf("wait %d is %s, want %v beyond %s", i, wait, usual[i], tc.asks)
					}
				}
			}
			if tc.asks != never && len(met) < runs {
				t.Errorf("only %d different waits: %v", len(met), met)
			}
		})
	}
}
