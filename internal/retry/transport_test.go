package retry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polex-dev/polex/internal/retry"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// server returns its answers in order, and then repeats the last one.
type server struct {
	answers []answer
	asked   []*http.Request
	sent    []string // bodies
}

type answer func(*http.Request) (*http.Response, error)

func (s *server) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := ""
	if request.Body != nil {
		raw, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		sent = string(raw)
	}
	s.asked, s.sent = append(s.asked, request), append(s.sent, sent)
	return s.answers[min(len(s.asked), len(s.answers))-1](request)
}

// says returns a status and headers, given as names and values in turn.
func says(status int, body string, headers ...string) answer {
	return func(r *http.Request) (*http.Response, error) {
		return with(status, strings.NewReader(body), headers...)(r)
	}
}

func with(status int, body io.Reader, headers ...string) answer {
	return func(*http.Request) (*http.Response, error) {
		response := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(body), ContentLength: -1}
		for i := 0; i < len(headers); i += 2 {
			response.Header.Set(headers[i], headers[i+1])
		}
		return response, nil
	}
}

func fails(err error) answer { return func(*http.Request) (*http.Response, error) { return nil, err } }

// mute never answers.
func mute(request *http.Request) (*http.Response, error) {
	<-request.Context().Done()
	return nil, request.Context().Err()
}

// failing is a truncated body.
type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }

// endless is a body without an end, which nobody should read completely.
type endless struct{ read *int }

func (e endless) Read(p []byte) (int, error) {
	if *e.read += len(p); *e.read > 1<<20 {
		return 0, io.EOF
	}
	return len(p), nil
}

// closed is a body that records that it is closed.
type closed struct {
	io.Reader
	yes *bool
}

func (c closed) Close() error { *c.yes = true; return nil }

// rest records the waits between two tries without waiting.
type rest struct{ waits []time.Duration }

func (r *rest) sleep(ctx context.Context, d time.Duration) error {
	r.waits = append(r.waits, d)
	return ctx.Err()
}

const address = "https://server.example/path"

func get(t *testing.T, transport http.RoundTripper, ctx context.Context) (int, string, error) {
	t.Helper()
	request := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, address, nil))(t)
	client := http.Client{Transport: transport}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || int(response.ContentLength) != len(body) {
		t.Errorf("%d bytes of %d, %v", len(body), response.ContentLength, err)
	}
	return response.StatusCode, string(body), nil
}

// Requests that are retried, and answers that are returned or rejected immediately.
func TestTransport(t *testing.T) {
	github := retry.Transport{SecondaryLimits: true}
	long := strings.Repeat("x", retry.DefaultMaxAnswer)
	fine := says(200, "fine")
	for _, tc := range []struct {
		name      string
		transport retry.Transport
		answers   []answer
		asked     int
		want      string // in the answer
		wantErr   string
		waited    time.Duration // before the second try, in whole seconds
	}{
		{name: "fine", answers: []answer{fine}, asked: 1, want: "fine"},
		{name: "500", answers: []answer{says(500, ""), fine}, asked: 2, want: "fine"},
		{name: "599 and more", answers: []answer{says(599, ""), says(502, ""), says(503, ""), fine}, asked: 4, want: "fine"},
		{name: "503 for good", answers: []answer{says(503, " down\n")}, asked: 4, wantErr: "it returned 503: down (asked 4 times)"},
		{name: "429", answers: []answer{says(429, ""), fine}, asked: 2, want: "fine"},
		{name: "429, later", answers: []answer{says(429, "", "Retry-After", "7"), fine}, asked: 2, want: "fine", waited: 7 * time.Second},
		{name: "a secondary limit that only the message states", transport: github, answers: []answer{says(403, "You have exceeded a secondary rate limit."), fine}, asked: 2, want: "fine", waited: time.Minute},
		{name: "the same message of another server", answers: []answer{says(403, "secondary rate limit"), fine}, asked: 1, want: "secondary rate limit"},
		{name: "429, much later", answers: []answer{says(429, "busy", "Retry-After", "61"), fine}, asked: 1,
			wantErr: "it returned 429: busy (and requests no retry for 1m1s)"},
		{name: "a cut that says when", answers: []answer{with(503, failing{io.ErrUnexpectedEOF}, "Retry-After", "7"), fine}, asked: 2, want: "fine", waited: 7 * time.Second},
		{name: "cut off", answers: []answer{with(200, failing{io.ErrUnexpectedEOF}), fine}, asked: 2, want: "fine"},
		{name: "cut off for good", answers: []answer{with(200, failing{io.ErrUnexpectedEOF})}, asked: 4, wantErr: "read its answer: unexpected EOF (asked 4 times)"},
		{name: "hung up", answers: []answer{fails(io.EOF), fine}, asked: 2, want: "fine"},
		{name: "refused", answers: []answer{says(404, "none")}, asked: 1, want: "none"},
		{name: "403 that says when", answers: []answer{says(403, "no", "Retry-After", "7")}, asked: 1, want: "no"},
		{name: "429 at a limit", answers: []answer{says(429, "", "X-RateLimit-Remaining", "0"), fine}, asked: 2, want: "fine"},

		{name: "secondary, by 403", transport: github, answers: []answer{says(403, "", "Retry-After", "7"), fine}, asked: 2, want: "fine", waited: 7 * time.Second},
		{name: "secondary, by 403, much later", transport: github, answers: []answer{says(403, "", "Retry-After", "61"), fine}, asked: 1, wantErr: "for 1m1s"},
		{name: "secondary, by 429", transport: github, answers: []answer{says(429, "", "Retry-After", "7"), fine}, asked: 2, want: "fine", waited: 7 * time.Second},
		{name: "secondary, without a time", transport: github, answers: []answer{says(429, ""), fine}, asked: 2, want: "fine", waited: time.Minute},
		{name: "secondary, without a known time", transport: github, answers: []answer{says(429, "", "Retry-After", "soon"), fine}, asked: 2, want: "fine", waited: time.Minute},
		{name: "of the hour, by 403", transport: github, answers: []answer{says(403, "limit", "X-RateLimit-Remaining", "0")}, asked: 1, want: "limit"},
		{name: "of the hour, by 429", transport: github, answers: []answer{says(429, "limit", "X-RateLimit-Remaining", "0")}, asked: 1, want: "limit"},
		{name: "forbidden", transport: github, answers: []answer{says(403, "no")}, asked: 1, want: "no"},
		{name: "unknown", transport: github, answers: []answer{says(404, "none", "Retry-After", "7")}, asked: 1, want: "none"},
		{name: "stumbles over a limit", transport: github, answers: []answer{says(502, ""), fine}, asked: 2, want: "fine"},

		{name: "as long as may be", answers: []answer{says(200, long)}, asked: 1, want: long},
		{name: "longer", answers: []answer{says(200, long+"x")}, asked: 1, wantErr: "its answer is larger than 1024 KiB"},
		{name: "longer than was said", transport: retry.Transport{MaxAnswer: 2048}, answers: []answer{says(200, strings.Repeat("x", 2049))}, asked: 1, wantErr: "larger than 2 KiB"},
		{name: "as long as was said", transport: retry.Transport{MaxAnswer: 2 << 20}, answers: []answer{says(200, long+"x")}, asked: 1, want: long + "x"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, r := &server{answers: tc.answers}, &rest{}
			tc.transport.Next, tc.transport.Sleep = s, r.sleep
			_, body, err := get(t, tc.transport, t.Context())
			expect.Outcome(t, err, tc.wantErr)
			expect.That(t, body == tc.want, "it answers %.100q, want %.100q", body, tc.want)
			must.That(t, len(s.asked) == tc.asked && len(r.waits) == tc.asked-1,
				"asked %d times, want %d; waited %v", len(s.asked), tc.asked, r.waits)
			if tc.asked > 1 && r.waits[0].Truncate(time.Second) != tc.waited {
				t.Errorf("waited %v, want %v", r.waits, tc.waited)
			}
		})
	}
}

// The error contains the last answer, but only its first bytes.
func TestStatusError(t *testing.T) {
	s := &server{answers: []answer{says(503, strings.Repeat("x", 511)+"ä and more")}}
	_, _, err := get(t, retry.Transport{Timing: retry.Timing{Sleep: new(rest).sleep}, Next: s}, t.Context())
	var answered *retry.StatusError
	expect.That(t, errors.As(err, &answered) && answered.Status == 503 && answered.Said == strings.Repeat("x", 511)+"?",
		"it is %v", err)
}

// A body without an end is not read completely.
func TestEndless(t *testing.T) {
	read := 0
	s := &server{answers: []answer{with(200, endless{&read})}}
	_, _, err := get(t, retry.Transport{Next: s, MaxAnswer: 1 << 10}, t.Context())
	expect.That(t, err != nil && len(s.asked) == 1 && read <= 1<<12, "it is %v after %d bytes", err, read)
}

// Every try sends the whole request. A request without a repeatable body is sent once.
func TestBody(t *testing.T) {
	for name, tc := range map[string]struct {
		again bool
		asked int
	}{"that can be had again": {true, 4}, "that cannot": {false, 1}} {
		t.Run(name, func(t *testing.T) {
			s := &server{answers: []answer{says(503, "")}}
			gone := false
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, address, closed{strings.NewReader("entry"), &gone})
			if tc.again {
				request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("entry")), nil }
			}
			transport := retry.Transport{Timing: retry.Timing{Sleep: new(rest).sleep}, Next: s}
			expect.Failure(transport.RoundTrip(request))(t)
			expect.That(t, len(s.sent) == tc.asked && gone, "asked %d times, want %d; closed: %v", len(s.sent), tc.asked, gone)
			for _, sent := range s.sent {
				expect.Is(t, "it sent", "entry", sent)
			}
		})
	}
}

// The wait for a silent server has a timeout, measured by a fake clock.
func TestMute(t *testing.T) {
	for _, tc := range []struct {
		name    string
		timing  retry.Timing
		answer  answer
		each    time.Duration
		wantErr string
	}{
		{"by default", retry.Timing{}, mute, 30 * time.Second, "no answer within 30s (asked 4 times)"},
		{"as was said", retry.Timing{Answer: time.Hour}, mute, time.Hour, "no answer within 1h0m0s (asked 4 times)"},
		{"half way", retry.Timing{}, func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done() // while the body is read
			return with(200, failing{r.Context().Err()})(r)
		}, 30 * time.Second, "read its answer: no answer within 30s (asked 4 times)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				_, _, err := get(t, retry.Transport{Timing: tc.timing, Next: &server{answers: []answer{tc.answer}}}, t.Context())
				expect.Error(t, err, tc.wantErr)
				if took, waits := time.Since(begin)-4*tc.each, 3500*time.Millisecond; took < waits/2 || took > waits {
					t.Errorf("between the tries it waited %s", took)
				}
			})
		})
	}
}

// The context ends the wait, during a try or between two.
func TestEnds(t *testing.T) {
	stumbles := says(503, "")
	for name, answers := range map[string][]answer{
		"in a try":        {mute},
		"in the last try": {stumbles, stumbles, stumbles, mute},
		"between two":     {says(503, "", "Retry-After", "60")},
	} {
		for what, within := range map[string]bool{"its own context": false, "another context": true} {
			t.Run(name+", with "+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					s := &server{answers: answers}
					transport, own := retry.Transport{Timing: retry.Timing{Answer: time.Hour}, Next: s}, ctx
					if within {
						transport, own = transport.Within(ctx), t.Context()
					}
					begin := time.Now()
					_, _, err := get(t, transport, own)
					expect.That(t, errors.Is(err, context.DeadlineExceeded) && !strings.Contains(err.Error(), "asked"), "it is %v", err)
					took := time.Since(begin)
					expect.That(t, took == time.Minute && len(s.asked) == len(answers), "it took %s, asked %d times", took, len(s.asked))
				})
			})
		}
	}
}

// An untrusted TLS certificate is not retried.
func TestStrangers(t *testing.T) {
	server := httptest.NewUnstartedServer(nil)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil))(t)
	var r rest
	_, err := retry.Transport{Timing: retry.Timing{Sleep: r.sleep}}.RoundTrip(request)
	expect.That(t, err != nil && strings.Contains(err.Error(), "certificate") && len(r.waits) == 0,
		"it is %v after %v, want an error at once", err, r.waits)
}

// A redirect that would replace a write by a GET is an error: the answer to the GET would count as
// the answer to the write.
func TestRedirectedWrites(t *testing.T) {
	for status, follows := range map[int]bool{301: false, 302: false, 303: false, 307: true, 308: true} {
		s := &server{answers: []answer{says(status, "", "Location", "/elsewhere"), says(200, "")}}
		response, err := (&http.Client{Transport: retry.Transport{Next: s, FollowOnHost: true}}).Post(address, "", strings.NewReader("{}"))
		if err == nil {
			err = response.Body.Close()
		}
		if (err == nil) != follows || err != nil && !strings.Contains(err.Error(), fmt.Sprintf("it redirects with status %d, and a GET would replace the POST", status)) {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// A request is sent only to its own server.
func TestRedirects(t *testing.T) {
	to := func(where string) answer { return says(307, "", "Location", where) }
	for _, tc := range []struct {
		name    string
		strict  bool
		answers []answer
		asked   int
		wantErr string // "" for an answer
	}{
		{"not at all", true, []answer{to("/elsewhere")}, 1, "it returned 307; redirects are not followed"},
		{"without a place", false, []answer{says(304, "")}, 1, "it returned 304; redirects are not followed"},
		{"on the host", false, []answer{to("/elsewhere"), says(200, "")}, 2, ""},
		{"thrice", false, []answer{to("/1"), to("/2"), to(address), says(200, "")}, 4, ""},
		{"in circles", false, []answer{to("/1")}, 4, "it redirects in a loop"},
		{"to another host", false, []answer{to("https://elsewhere.example/path")}, 1, `it redirects to another host, "elsewhere.example"`},
		{"to another port", false, []answer{to("https://server.example:8443/path")}, 1, "another host"},
		{"in the open", false, []answer{to("http://server.example/path")}, 1, "another host"},
		{"to another host in the end", false, []answer{to("/1"), to("//elsewhere.example")}, 2, "another host"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &server{answers: tc.answers}
			_, _, err := get(t, retry.Transport{Next: s, FollowOnHost: !tc.strict}, t.Context())
			expect.Outcome(t, err, tc.wantErr)
			expect.That(t, len(s.asked) == tc.asked, "asked %d times, want %d", len(s.asked), tc.asked)
		})
	}
}

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
