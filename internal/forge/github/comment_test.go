package github_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/forge"
	"github.com/polex-dev/polex/internal/forge/github"
	"github.com/polex-dev/polex/internal/retry"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

const (
	token  = "ghs_0123456789"
	login  = "github-actions[bot]"
	marker = "<!-- polex: mongo -->"
	text   = marker + "\nmongo was signed\nuntil it is fixed\n"
)

type comment struct {
	ID   int64             `json:"id"`
	Body string            `json:"body"`
	User map[string]string `json:"user"`
}

// gitHub has pull request 12 of acme/exceptions.
type gitHub struct {
	*httptest.Server
	comments []comment
	writes   []string
	pulls    string // of any commit
	writer   string
	// meddle answers in place of the server if it returns true.
	meddle func(w http.ResponseWriter, r *http.Request) bool
}

func newGitHub(t *testing.T) *gitHub {
	t.Helper()
	g := &gitHub{writer: login}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /repos/acme/exceptions/issues/12/comments", func(w http.ResponseWriter, r *http.Request) {
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		// Fewer than requested, as a proxy may return.
		from, to := min((page-1)*2, len(g.comments)), min(page*2, len(g.comments))
		if to < len(g.comments) {
			w.Header().Set("Link", `<https://api.github.com/next>; rel="next"`)
		}
		_ = json.NewEncoder(w).Encode(append([]comment{}, g.comments[from:to]...))
	})
	mux.HandleFunc("POST /repos/acme/exceptions/issues/12/comments", func(w http.ResponseWriter, r *http.Request) {
		g.by(g.writer, read(r))
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(g.comments[len(g.comments)-1])
	})
	mux.HandleFunc("PATCH /repos/acme/exceptions/issues/comments/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, _ := strconv.Atoi(r.PathValue("id"))
		g.comments[id-1].Body = read(r)
		_ = json.NewEncoder(w).Encode(g.comments[id-1])
	})
	mux.HandleFunc("GET /repos/acme/exceptions/commits/{sha}/pulls", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(g.pulls)) })
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.Method != http.MethodGet {
			g.writes = append(g.writes, r.Method)
		}
		if g.meddle == nil || !g.meddle(w, r) {
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(g.Close)
	return g
}

func read(r *http.Request) string {
	var sent struct{ Body string }
	_ = json.NewDecoder(r.Body).Decode(&sent)
	return sent.Body
}

func (g *gitHub) by(login, body string) {
	g.comments = append(g.comments, comment{ID: int64(len(g.comments) + 1), Body: body, User: map[string]string{"login": login}})
}

func (g *gitHub) client(t *testing.T) *github.Client {
	t.Helper()
	timing := retry.Timing{Answer: time.Minute, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
	return must.Get(github.New(github.Config{HTTP: g.Client(), Timing: timing, APIURL: g.URL,
		ServerURL: "https://github.com", Repository: "acme/exceptions", Token: token}))(t)
}

// A second run changes nothing, a changed event changes its comment, and another kind or exception
// gets its own comment.
func TestComment(t *testing.T) {
	g := newGitHub(t)
	for range 5 {
		g.by("alice", "a remark")
	}
	const soon, other = "<!-- polex: mongo ending -->", "<!-- polex: redis -->"
	later := text + "until next year\n"
	for i, step := range []struct {
		marker, text, did string
		count             int
	}{
		{marker, text, "created", 6}, {marker, text, "unchanged", 6}, {marker, later, "changed", 6}, {marker, later, "unchanged", 6},
		{soon, soon + text, "created", 7}, {other, other + text, "created", 8}, {marker, text, "changed", 8},
	} {
		did, err := g.client(t).Comment(t.Context(), 12, "", step.marker, step.text)
		expect.That(t, err == nil && did == step.did && len(g.comments) == step.count,
			"step %d: %s, %v, %d comments", i, did, err, len(g.comments))
	}
	expect.Is(t, "requests", "POST PATCH POST POST PATCH", strings.Join(g.writes, " "))
	expect.Is(t, "comment", text, g.comments[5].Body)
}

// TestCommentAgain: a run finds its own comment, and no other.
func TestCommentAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(g *gitHub)
		login  string // of the token, if the run is told
		did    string
		err    string
		count  int // of comments
	}{
		"a server that changes line ends": {before: func(g *gitHub) {
			g.by(login, strings.ReplaceAll(strings.TrimSpace(text), "\n", "\r\n"))
		}, did: "unchanged", count: 1},
		// Everybody can write the marker, so comments of other accounts are not used or changed.
		"comments of others": {before: func(g *gitHub) {
			g.by("mallory", text)
			g.by("github-actions", text)
			g.by(login, "About\n"+text)
		}, did: "created", count: 4},
		// With a token of another account, every run would add a comment.
		"as another":           {before: func(g *gitHub) { g.writer = "notices[bot]" }, did: "created", err: `as "notices[bot]"`, count: 1},
		"as another, and told": {before: func(g *gitHub) { g.by("notices[bot]", text) }, login: "notices[bot]", did: "unchanged", count: 1},
		"only the answer was lost": {before: func(g *gitHub) {
			g.meddle = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPost {
					g.by(g.writer, read(r))
					cutOff(w, r)
				}
				return false
			}
		}, did: "unchanged", count: 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGitHub(t)
			tc.before(g)
			did, err := g.client(t).Comment(t.Context(), 12, tc.login, marker, text)
			expect.Outcome(t, err, tc.err)
			expect.That(t, err != nil || did == tc.did, "it is %s", did)
			expect.Is(t, "comments", tc.count, len(g.comments))
		})
	}
}

func TestCommentFaults(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was led elsewhere") }))
	defer elsewhere.Close()
	says := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"message":"no, %s"}`, r.Header.Get("Authorization"))
		}
	}
	for name, tc := range map[string]struct {
		method string
		answer http.HandlerFunc
		want   string
	}{
		"no right to read":  {http.MethodGet, says(http.StatusNotFound), "404"},
		"no right to write": {http.MethodPost, says(http.StatusForbidden), "403"},
		"overloaded":        {http.MethodGet, says(http.StatusBadGateway), "502"},
		"cannot write":      {http.MethodPost, says(http.StatusBadGateway), "502"},
		"a redirect":        {http.MethodGet, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) }, "redirects to another host"},
		"no JSON":           {http.MethodGet, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, "its answer is not one of this API"},
		"cut off":           {http.MethodGet, cutOff, "EOF"},
		"pages without end": {http.MethodGet, endless, "more than 30 pages"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGitHub(t)
			g.meddle = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == tc.method {
					tc.answer(w, r)
				}
				return r.Method == tc.method
			}
			_, err := g.client(t).Comment(t.Context(), 12, "", marker, text)
			expect.Error(t, err, tc.want, "pull request 12")
			expect.That(t, !strings.Contains(err.Error(), token), "it says the token: %v", err)
			expect.That(t, len(g.comments) == 0, "there are comments: %v", g.comments)
		})
	}
}

// Only pull requests of the repository get comments, even if a record names another.
func TestNumberOf(t *testing.T) {
	environment := map[string]string{"GITHUB_REPOSITORY": "acme/exceptions"}
	workflow := github.Workflow(func(name string) string { return environment[name] })
	for address, want := range map[string]int{
		"https://github.com/acme/exceptions/pull/12": 12, "https://github.com/acme/exceptions/pull/0": 0, "https://github.com/acme/exceptions/pull/-1": 0,
		"https://github.com/acme/exceptions/pull/12/files": 0, "https://github.com/acme/other/pull/12": 0, "https://github.com/acme/exceptions/pull/012": 0,
		"https://evil.example/acme/exceptions/pull/12": 0, "https://github.com/acme/exceptions/pull/99999999999999": 0, "group/project!12": 0, "12": 0, "": 0,
	} {
		got, ok := workflow.NumberOf(address)
		expect.That(t, got == want && ok == (want > 0), "%q is %d", address, got)
	}
}

func TestMergeOf(t *testing.T) {
	commit := strings.Repeat("c", 40)
	const merged = `{"number":12,"html_url":"https://github.com/acme/exceptions/pull/12","merged_at":"2026-11-20T10:11:12Z",` +
		`"head":{"sha":"4444444444444444444444444444444444444444"},"base":{"repo":{"full_name":"acme/exceptions"}}}`
	for pulls, want := range map[string]int{
		`[` + merged + `]`: 12, `[]`: 0, `[` + merged + `,` + strings.ReplaceAll(strings.ReplaceAll(merged, "12,", "13,"), "pull/12", "pull/13") + `]`: 0,
		`[` + strings.ReplaceAll(merged, `"acme/exceptions"`, `"mallory/exceptions"`) + `]`: 0,
		`[` + strings.ReplaceAll(merged, `"2026-11-20T10:11:12Z"`, "null") + `]`:            0,
		`[` + strings.ReplaceAll(merged, ":12,", ":-1,") + `]`:                              0, `{}`: 0,
	} {
		g := newGitHub(t)
		g.pulls = pulls
		got, err := forge.MergeOf(t.Context(), g.client(t), commit)
		expect.That(t, got == want && (err == nil) == (want > 0), "%s: %d, %v", pulls, got, err)
		_, err = forge.MergeOf(t.Context(), g.client(t), "../issues")
		expect.That(t, err != nil, "that is no commit")
	}
}

func endless(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Link", `<https://api.github.com/next>; rel="next"`)
	_, _ = w.Write([]byte(`[{"id":1,"body":"x"}]`))
}

func TestNoPullRequest(t *testing.T) {
	_, err := newGitHub(t).client(t).Comment(t.Context(), 0, "", marker, text)
	expect.That(t, err != nil, "there is no pull request 0")
}

// cutOff closes the connection without an answer.
func cutOff(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func TestConfig(t *testing.T) {
	for name, change := range map[string]func(*github.Config){
		"no client":                  func(c *github.Config) { c.HTTP = nil },
		"an open line":               func(c *github.Config) { c.APIURL = "http://api.github.com" },
		"an open line to the server": func(c *github.Config) { c.ServerURL = "http://github.com" },
		"a query":                    func(c *github.Config) { c.APIURL += "/?x=1" },
		"a password":                 func(c *github.Config) { c.APIURL = "https://a:hunter2@api.github.com" },
		"no API":                     func(c *github.Config) { c.APIURL = "" },
		"a path above":               func(c *github.Config) { c.Repository = "acme/../x" },
		"no server":                  func(c *github.Config) { c.ServerURL = "" },
		"no repository":              func(c *github.Config) { c.Repository = "" },
		"a path":                     func(c *github.Config) { c.Repository = "acme/exceptions/x" },
		"a parent":                   func(c *github.Config) { c.Repository = "acme/.." },
		"no token":                   func(c *github.Config) { c.Token = "" },
		"a broken token":             func(c *github.Config) { c.Token = "a\r\nX: b" },
		"nothing wrong":              nil,
	} {
		c := github.Config{HTTP: &http.Client{}, APIURL: "https://api.github.com/", ServerURL: "https://github.com", Repository: "acme/exceptions", Token: "token-of-somebody"}
		if change != nil {
			change(&c)
		}
		_, err := github.New(c)
		expect.That(t, (err == nil) == (change == nil), "%s: %v", name, err)
		if err != nil && (c.Token != "" && strings.Contains(err.Error(), c.Token) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: it says a secret: %v", name, err)
		}
	}
}

// TestGraphQL: on GitHub Enterprise Server, the GraphQL API is not below the REST API. Without a
// commit, the error has the server's message, and not the token.
func TestGraphQL(t *testing.T) {
	for below, want := range map[string]string{"": "/graphql", "/api/v3": "/api/graphql"} {
		const token = "token-of-somebody"
		at := ""
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			at = r.URL.Path
			_, _ = w.Write([]byte(`{"data": null, "errors": [{"type": "FORBIDDEN", "message": "not with ` + token + `"}]}`))
		}))
		defer server.Close()
		client, err := github.New(github.Config{HTTP: &http.Client{}, APIURL: server.URL + below, ServerURL: "https://github.com", Repository: "acme/exceptions", Token: token})
		must.Do(t, err)
		err = client.CommitOnBranch(t.Context(), "main", strings.Repeat("1", 40), "Sign\n", nil, []string{"a"})
		expect.That(t, at == want && err != nil && err.Error() == "createCommitOnBranch: not with [secret]",
			"at %s: %v", at, err)
	}
}

func TestBadEvents(t *testing.T) {
	for name, tc := range map[string]struct{ payload, server, repository string }{
		"no JSON":       {"<html>", "https://github.com", "acme/exceptions"},
		"too long":      {strings.Repeat(" ", 25<<20) + "{}", "https://github.com", "acme/exceptions"},
		"no server":     {"{}", "http://github.com", "acme/exceptions"},
		"no repository": {"{}", "https://github.com", "acme"},
		"nothing wrong": {"{}", "https://github.com", "acme/exceptions"},
	} {
		environment := map[string]string{"GITHUB_SERVER_URL": tc.server, "GITHUB_REPOSITORY": tc.repository}
		pull, err := github.Workflow(func(name string) string { return environment[name] }).Event([]byte(tc.payload))
		expect.That(t, (err == nil) == (name == "nothing wrong") && pull == nil, "%s: %v, %v", name, pull, err)
	}
}
