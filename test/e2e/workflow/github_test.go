//go:build e2e

package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
)

const token = "ghs_0123456789"

// gitHub plays the part of GitHub's API that is asked for who approved: every merge
// on main of the remote is a pull request of alice, which bob has approved or
// nobody has.
type gitHub struct {
	*remoted
	approved bool
	url      string

	mu     sync.Mutex
	merges []string // the pull request 1 is the first
}

// gitHub starts one for a repository.
func (r *remoted) gitHub(t *testing.T, approved bool) *gitHub {
	t.Helper()
	g := &gitHub{remoted: r, approved: approved}
	mux := http.NewServeMux()
	const at = "GET /repos/" + owner + "/" + name
	answer := func(pattern string, with func(*http.Request) (any, error)) {
		mux.HandleFunc(at+pattern, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+token {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			value, err := with(r)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			_ = json.NewEncoder(w).Encode(value) // who asks sees what is missing
		})
	}
	answer("/commits/{sha}/pulls", g.pulls)
	answer("/commits/{sha}", g.commitOf)
	answer("/git/trees/{sha}", g.tree)
	answer("/pulls/{number}/reviews", g.reviews)
	answer("/collaborators/bob/permission", func(*http.Request) (any, error) {
		return object{"permission": "write", "user": person("bob")}, nil
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	g.url = server.URL
	return g
}

type (
	object = map[string]any
	list   = []any
)

func person(login string) object {
	return object{"id": 1 + len(login), "login": login, "type": "User"}
}

// ask lets Git answer about the remote.
func (g *gitHub) ask(args ...string) (string, error) {
	out, err := g.command(context.Background(), "git", append([]string{"-C", g.remote}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %v: %w", args, err)
	}
	return strings.TrimSpace(string(out)), nil
}

func (g *gitHub) pulls(r *http.Request) (any, error) {
	merge := r.PathValue("sha")
	head, err := g.ask("rev-parse", merge+"^2")
	if err != nil {
		return list{}, nil //nolint:nilerr // what is no merge was no pull request
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.merges = append(g.merges, merge)
	number := len(g.merges)
	return list{object{"number": number, "html_url": fmt.Sprintf("https://github.com/%s/%s/pull/%d", owner, name, number), "user": person("alice"),
		"merged_at": "2026-11-20T10:11:12Z", "merge_commit_sha": merge, "head": object{"sha": head},
		"base": object{"ref": "main", "repo": object{"full_name": owner + "/" + name}}}}, nil
}

func (g *gitHub) commitOf(r *http.Request) (any, error) {
	tree, err := g.ask("rev-parse", r.PathValue("sha")+"^{tree}")
	return object{"sha": r.PathValue("sha"), "author": person("alice"), "commit": object{"tree": object{"sha": tree}}}, err
}

func (g *gitHub) tree(r *http.Request) (any, error) {
	listed, err := g.ask("ls-tree", "-z", r.PathValue("sha"))
	entries := list{}
	for line := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
		var mode, kind, sha, file string
		if _, err := fmt.Sscanf(line, "%s %s %s\t%s", &mode, &kind, &sha, &file); err != nil {
			return nil, err
		}
		entries = append(entries, object{"path": path.Base(file), "type": kind, "mode": mode, "sha": sha})
	}
	return object{"tree": entries}, err
}

func (g *gitHub) reviews(r *http.Request) (any, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var number int
	if _, err := fmt.Sscan(r.PathValue("number"), &number); err != nil || number < 1 || number > len(g.merges) {
		return nil, fmt.Errorf("there is no pull request %s: %w", r.PathValue("number"), err)
	}
	head, err := g.ask("rev-parse", g.merges[number-1]+"^2")
	if !g.approved {
		return list{}, err
	}
	return list{object{"id": 1, "user": person("bob"), "state": "APPROVED", "commit_id": head, "submitted_at": "2026-11-20T09:00:00Z"}}, err
}
