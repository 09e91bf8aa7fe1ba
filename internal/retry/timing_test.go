package retry_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polex-dev/polex/internal/retry"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
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
				_, _, err := get(t, retry.Transport{Timing: retry.Timing{Sleep: r.sleep}, Next: s}, t.Context())
				must.That(t, err != nil, "it passed")
				if tc.asks == never {
					must.That(t, len(r.waits) == 0, "waited %v", r.waits)
					continue
				}
				must.That(t, len(r.waits) == len(usual), "waited %v", r.waits)
				for i, wait := range r.waits {
					met[wait] = true
					if chance := wait - tc.asks; chance < usual[i][0] || chance > usual[i][1] {
						t.Errorf("wait %d is %s, want %v beyond %s", i, wait, usual[i], tc.asks)
					}
				}
			}
			expect.That(t, tc.asks == never || len(met) >= runs, "only %d different waits: %v", len(met), met)
		})
	}
}

// A command is repeated while its error is transient, within one limit for all tries.
func TestCommand(t *testing.T) {
	away := retry.Transient(errors.New("away"))
	hangs := func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
	says := func(err error) func(context.Context) error { return func(context.Context) error { return err } }
	for _, tc := range []struct {
		name        string
		runs        []func(context.Context) error // the last one is repeated
		tries       int
		want        string // of the error; "" for none
		unavailable bool
		least, most time.Duration
	}{
		{name: "at once", runs: []func(context.Context) error{says(nil)}, tries: 1},
		{name: "the third time", runs: []func(context.Context) error{says(away), says(away), says(nil)}, tries: 3, least: 750 * time.Millisecond, most: 1500 * time.Millisecond},
		{name: "never", runs: []func(context.Context) error{says(away)}, tries: 4, want: "away (tried 4 times)", unavailable: true, least: 1750 * time.Millisecond, most: 3500 * time.Millisecond},
		{name: "rejected", runs: []func(context.Context) error{says(errors.New("rejected"))}, tries: 1, want: "rejected"},
		{name: "rejected after a retry", runs: []func(context.Context) error{says(away), says(errors.New("rejected"))}, tries: 2, want: "rejected", least: 250 * time.Millisecond, most: 500 * time.Millisecond},
		{name: "hangs", runs: []func(context.Context) error{hangs}, tries: 1, want: "no answer within 3m0s", unavailable: true, least: 3 * time.Minute, most: 3 * time.Minute},
		{name: "away, and hangs", runs: []func(context.Context) error{says(away), hangs}, tries: 2, want: "no answer within 3m0s", unavailable: true, least: 3 * time.Minute, most: 3 * time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, tries := time.Now(), 0
				err := retry.Timing{}.Command(t.Context(), func(ctx context.Context) error {
					tries++
					return tc.runs[min(tries, len(tc.runs))-1](ctx)
				})
				expect.Outcome(t, err, tc.want)
				expect.Is(t, "unavailable", tc.unavailable, retry.Unavailable(err))
				took := time.Since(began)
				expect.That(t, tries == tc.tries && took >= tc.least && took <= tc.most, "%d tries in %s", tries, took)
			})
		})
	}
}

// The context of the caller ends a command, and that is no outage.
func TestCommandEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := retry.Timing{}.Command(ctx, func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) })
		expect.That(t, errors.Is(err, context.DeadlineExceeded) && !retry.Unavailable(err), "it is %v", err)
	})
}

// A large request gets more time.
func TestUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		request := must.Get(http.NewRequestWithContext(
			t.Context(), http.MethodPost, address, strings.NewReader(strings.Repeat("x", 10<<20))))(t)
		request.GetBody = nil
		began := time.Now()
		_, err := retry.Transport{Next: &server{answers: []answer{mute}}}.RoundTrip(request)
		took := time.Since(began)
		expect.That(t, took == 50*time.Second && retry.Unavailable(err), "%v after %s", err, took)
	})
}
