package github_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/forge/github"
)

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
		if (err == nil) != (change == nil) {
			t.Errorf("%s: %v", name, err)
		}
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
		if err != nil {
			t.Fatal(err)
		}
		err = client.CommitOnBranch(t.Context(), "main", strings.Repeat("1", 40), "Sign\n", nil, []string{"a"})
		if at != want || err == nil || err.Error() != "createCommitOnBranch: not with [secret]" {
			t.Errorf("at %s: %v", at, err)
		}
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
		if (err == nil) != (name == "nothing wrong") || pull != nil {
			t.Errorf("%s: %v, %v", name, pull, err)
		}
	}
}
