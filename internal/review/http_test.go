package review_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/review"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// refuseWith answers with a status and headers, so many times.
func refuseWith(status, times int, headers ...string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		if times == 0 {
			return false
		}
		times--
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		reply(w, status, object{"message": "You have exceeded a secondary rate limit."})
		return true
	}
}

// says answers with a status and a body.
func says(status int, body string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		return true
	}
}

// Answers of the server, and the expected results.
func TestServer(t *testing.T) {
	second := time.Second
	for name, tc := range map[string]struct {
		meddle func(http.ResponseWriter, *http.Request) bool
		want   string
		paused []time.Duration
	}{
		"stumbles, then answers":   {refuseWith(502, 3), "bob", []time.Duration{0, 0, second}},
		"stumbles on":              {refuseWith(502, 4), "unknown: returned 502", []time.Duration{0, 0, second}},
		"asks for patience by 403": {refuseWith(403, 1, "Retry-After", "7"), "bob", []time.Duration{7 * second}},
		"does not say how much":    {refuseWith(429, 1), "bob", []time.Duration{60 * second}},
		"asks for too much":        {refuseWith(429, 1, "Retry-After", "61"), "unknown: returned 429", nil},
		"is at the hour's limit":   {refuseWith(403, 1, "X-RateLimit-Remaining", "0"), "unknown: rate limit", nil},
		"is at it, by 429":         {refuseWith(429, 1, "X-RateLimit-Remaining", "0"), "unknown: rate limit", nil},
		"forbids":                  {says(403, `{"message": "Resource not accessible by integration"}`), "unknown: not accessible", nil},
		"answers without an end": {func(w http.ResponseWriter, _ *http.Request) bool {
			for {
				if _, err := io.WriteString(w, strings.Repeat(" ", 1<<10)); err != nil {
					return true
				}
			}
		}, "unknown: larger than 32768 KiB", nil},
		"answers something else":      {says(200, "<html>"), "unknown: invalid character", nil},
		"answers more than one thing": {says(200, "[] []"), "unknown: invalid character", nil},
		"answers with nothing":        {says(204, ""), "unknown: returned 204", nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGitHub(t)
			g.meddle = tc.meddle
			wanted(t, outcome(t, g, g.config()), tc.want)
			expect.Equal(t, "result", tc.paused, g.paused)
		})
	}
}

// A redirect is followed on the same host only, so no other host gets the token.
func TestRedirect(t *testing.T) {
	var leaked []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leaked = append(leaked, r.URL.Path+" "+r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	for name, tc := range map[string]struct {
		to   func(g *gitHub, path string) string
		want string
	}{
		"to another host": {func(_ *gitHub, path string) string { return elsewhere.URL + path }, "unknown: another host"},
		"in circles":      {func(_ *gitHub, path string) string { return "/renamed" + path }, "unknown: in a loop"},
		"renamed": {func(_ *gitHub, path string) string {
			if strings.HasPrefix(path, api+"/commits/"+mergeCommit) {
				return "/repositories/1/commits/" + mergeCommit + "/pulls"
			}
			return ""
		}, "bob"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGitHub(t)
			g.answers["/repositories/1/commits/"+mergeCommit+"/pulls"] = g.answers[api+"/commits/"+mergeCommit+"/pulls"]
			g.meddle = func(w http.ResponseWriter, r *http.Request) bool {
				to := tc.to(g, r.URL.Path)
				if to != "" {
					http.Redirect(w, r, to, http.StatusMovedPermanently)
				}
				return to != ""
			}
			wanted(t, outcome(t, g, g.config()), tc.want)
		})
	}
	expect.That(t, len(leaked) == 0, "another host was asked: %q", leaked)
}

// A redirect from https to http counts as another host.
func TestRedirectInTheOpen(t *testing.T) {
	g := newGitHub(t)
	g.server = httptest.NewTLSServer(g)
	defer g.server.Close()
	wanted(t, outcome(t, g, g.config()), "bob")
	g.meddle = func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, "http://"+r.Host+r.URL.Path, http.StatusMovedPermanently)
		return true
	}
	wanted(t, outcome(t, g, g.config()), "unknown: another host")
}

// stumbling is a transport that answers 502, and then calls a function.
type stumbling func()

func (s stumbling) RoundTrip(request *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusBadGateway, Request: request, Body: answered{s}}, nil
}

type answered struct{ then func() }

func (a answered) Read([]byte) (int, error) { return 0, io.EOF }
func (a answered) Close() error             { a.then(); return nil }

// Every request and wait ends with the context, and with its error.
func TestCancelled(t *testing.T) {
	for name, when := range map[string]func(cancel func()){
		"before the wait": func(cancel func()) { cancel() },
		"in the wait":     func(cancel func()) { go cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			asked := 0
			g := newGitHub(t)
			g.http, g.clock = stumbling(func() { asked++; when(cancel) }), true
			r := must.Get(review.New(g.config()))(t)
			_, err := r.Record(ctx, mongo())
			expect.Cause(t, err, context.Canceled)
			expect.That(t, asked == 1, "it asked %d times", asked)
		})
	}
}

// The advice depends on the answer of the server.
func TestAdvice(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		said   any
		want   string
	}{
		"a token of another server": {http.StatusUnauthorized, object{"message": "Bad credentials"}, "still valid"},
		"a permission":              {http.StatusForbidden, object{"message": "Resource not accessible by integration"}, "pull-requests: read"},
		"a repository not seen":     {http.StatusNotFound, object{"message": "Not Found"}, "pull-requests: read"},
		"the limit":                 {http.StatusForbidden, object{"message": "API rate limit exceeded for installation"}, "run it again later"},
		"a commit not pushed":       {http.StatusUnprocessableEntity, object{"message": "No commit found for SHA"}, "pushed"},
		"anything else":             {http.StatusTeapot, "a\xff teapot" + strings.Repeat("x", 1000), "run it again"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGitHub(t)
			g.meddle = func(w http.ResponseWriter, _ *http.Request) bool { reply(w, tc.status, tc.said); return true }
			r := must.Get(review.New(g.config()))(t)
			_, err := r.Record(t.Context(), mongo())
			var unknown *review.UnknownError
			if !errors.As(err, &unknown) || !strings.Contains(unknown.Hint(), tc.want) || len(err.Error()) > 700 || strings.Contains(err.Error(), token) {
				t.Errorf("it is %v, hint %q", err, unknown.Hint())
			}
		})
	}
}

// The client does not follow the addresses of next pages or other addresses in an answer.
func TestNothingElseIsAsked(t *testing.T) {
	g := newGitHub(t)
	g.perPage = 1
	g.reviews(given(1, bob, "APPROVED"), given(2, carol, "APPROVED"))
	wanted(t, outcome(t, g, g.config()), "bob carol")
	for _, asked := range g.asked {
		expect.That(t, strings.HasPrefix(asked, api+"/"), "it asked for %q", asked)
	}
	expect.That(t, slices.Contains(g.asked, api+"/pulls/12/reviews?page=2&per_page=100"), "it asked for %q alone", g.asked)
}

// An invalid configuration is rejected before the first request.
func TestNew(t *testing.T) {
	newApprover := review.Renewals{RequireNewApprover: true}
	renewals := func(source review.Source, asked review.Renewals) func(c *review.Config) {
		return func(c *review.Config) { c.Source, c.RequireApprovals, c.Renewals = source, 0, asked }
	}
	for name, tc := range map[string]struct {
		change func(c *review.Config)
		want   string
	}{
		"no API":                              {func(c *review.Config) { c.Reviews = nil }, "no API"},
		"no branch":                           {func(c *review.Config) { c.Branch = "" }, "is not the name of a branch"},
		"a reference":                         {func(c *review.Config) { c.Branch = "refs/heads/main" }, "is not the name of a branch"},
		"no history":                          {func(c *review.Config) { c.History = nil }, "no history"},
		"no source":                           {func(c *review.Config) { c.Source = "" }, "no source"},
		"fewer than none":                     {func(c *review.Config) { c.RequireApprovals = -1 }, "0 to 100"},
		"more than a hundred":                 {func(c *review.Config) { c.RequireApprovals = 101 }, "0 to 100"},
		"approvals of an event":               {func(c *review.Config) { c.Source = review.SourceEvent }, "an event has none"},
		"approvals of trailers":               {func(c *review.Config) { c.Source = review.SourceTrailers }, "any author can write names into a commit message"},
		"fewer than none of a renewal":        {func(c *review.Config) { c.Renewals.RequireApprovals = -1 }, "0 to 100"},
		"too many of a renewal":               {func(c *review.Config) { c.Renewals.RequireApprovals = 101 }, "0 to 100"},
		"fewer of a renewal than of any":      {func(c *review.Config) { c.RequireApprovals, c.Renewals.RequireApprovals = 2, 1 }, "must not require fewer"},
		"approvals of an event, of a renewal": {renewals(review.SourceEvent, review.Renewals{RequireApprovals: 1}), "an event has none"},
		"a new approver of an event":          {renewals(review.SourceEvent, newApprover), "an event has none"},
		"a new approver of trailers":          {renewals(review.SourceTrailers, newApprover), "any author can write names into a commit message"},
		"trailers beside an API":              {func(c *review.Config) { c.InsecureCountTrailers = true }, "are counted from trailers"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newGitHub(t).config()
			tc.change(&c)
			expect.Failure(review.New(c))(t, tc.want)
		})
	}
}
