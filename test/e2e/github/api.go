package github

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/polex-dev/polex/internal/forge/githubtest"
)

const token = "ghs_0123456789"

// API plays GitHub's API. Every merge on main of the remote is a pull request of alice, approved by
// bob or not approved.
type API struct {
	URL string
	// Forge commits, and opens pull requests. Main has no rules at first.
	Forge *githubtest.Server

	repository *Repository
	approved   bool
	server     *http.Server

	mu       sync.Mutex
	comments map[string][]Comment // by the number of the pull request
	merges   []string             // starting with pull request 1
}

// Comment is a comment in a pull request.
type Comment struct {
	ID   int               `json:"id"`
	Body string            `json:"body"`
	User map[string]string `json:"user"`
}

// Comments returns the comments of a pull request.
func (a *API) Comments(number int) []Comment {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.comments[strconv.Itoa(number)])
}

// PullRequest returns the number of the pull request that a commit merged, or 0 if nobody has asked
// the API about that commit.
func (a *API) PullRequest(merge string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Index(a.merges, merge) + 1
}

// API starts an API for a repository with a remote. Close it.
func (r *Repository) API(ctx context.Context, approved bool) (*API, error) {
	a := &API{repository: r, approved: approved, comments: map[string][]Comment{}}
	mux := http.NewServeMux()
	const at = "/repos/" + Owner + "/" + Name
	answer := func(pattern string, with func(*http.Request) (any, error)) {
		method, path, said := strings.Cut(pattern, " ")
		if !said {
			method, path = http.MethodGet, pattern
		}
		mux.HandleFunc(method+" "+at+path, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+token {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			value, err := with(r)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			_ = json.NewEncoder(w).Encode(value) // the client notices incomplete answers
		})
	}
	answer("/commits/{sha}/pulls", a.pulls)
	answer("/commits/{sha}", a.commitOf)
	answer("/git/trees/{sha}", a.tree)
	answer("/pulls/{number}/reviews", a.reviews)
	answer("/collaborators/bob/permission", func(*http.Request) (any, error) {
		return object{"permission": "write", "user": person("bob")}, nil
	})
	answer("/issues/{number}/comments", a.listComments)
	answer("POST /issues/{number}/comments", a.addComment)
	var err error
	if a.Forge, err = githubtest.New(r.Remote); err != nil {
		return nil, err
	}
	mux.Handle("/", a.Forge.Config.Handler)
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	a.URL = "http://" + listener.Addr().String()
	a.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = a.server.Serve(listener) }() // until Close
	return a, nil
}

// Close stops the API.
func (a *API) Close() error {
	a.Forge.Close()
	return a.server.Close()
}

type (
	object = map[string]any
	list   = []any
)

func person(login string) object {
	return object{"id": 1 + len(login), "login": login, "type": "User"}
}

// ask runs Git on the remote.
func (a *API) ask(r *http.Request, args ...string) (string, error) {
	return a.repository.Git(r.Context(), append([]string{"-C", a.repository.Remote}, args...)...)
}

func (a *API) pulls(r *http.Request) (any, error) {
	merge := r.PathValue("sha")
	head, err := a.ask(r, "rev-parse", merge+"^2")
	if err != nil {
		return list{}, nil //nolint:nilerr // only a merge has a pull request
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	number := slices.Index(a.merges, merge) + 1
	if number == 0 {
		a.merges = append(a.merges, merge)
		number = len(a.merges)
	}
	return list{object{"number": number, "html_url": fmt.Sprintf("https://github.com/%s/%s/pull/%d", Owner, Name, number), "user": person("alice"),
		"merged_at": "2026-11-20T10:11:12Z", "merge_commit_sha": merge, "head": object{"sha": head},
		"base": object{"ref": "main", "repo": object{"full_name": Owner + "/" + Name}}}}, nil
}

func (a *API) commitOf(r *http.Request) (any, error) {
	tree, err := a.ask(r, "rev-parse", r.PathValue("sha")+"^{tree}")
	return object{"sha": r.PathValue("sha"), "author": person("alice"), "commit": object{"tree": object{"sha": tree}}}, err
}

func (a *API) tree(r *http.Request) (any, error) {
	listed, err := a.ask(r, "ls-tree", "-z", r.PathValue("sha"))
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

func (a *API) listComments(r *http.Request) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.URL.Query().Get("page") != "1" {
		return list{}, nil
	}
	return append([]Comment{}, a.comments[r.PathValue("number")]...), nil
}

func (a *API) addComment(r *http.Request) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	number := r.PathValue("number")
	made := Comment{ID: len(a.comments[number]) + 1}
	err := json.NewDecoder(r.Body).Decode(&made)
	made.User = map[string]string{"login": "github-actions[bot]"}
	a.comments[number] = append(a.comments[number], made)
	return made, err
}

func (a *API) reviews(r *http.Request) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var number int
	if _, err := fmt.Sscan(r.PathValue("number"), &number); err != nil || number < 1 || number > len(a.merges) {
		return nil, fmt.Errorf("there is no pull request %s: %w", r.PathValue("number"), err)
	}
	head, err := a.ask(r, "rev-parse", a.merges[number-1]+"^2")
	if !a.approved {
		return list{}, err
	}
	return list{object{"id": 1, "user": person("bob"), "state": "APPROVED", "commit_id": head, "submitted_at": "2026-11-20T09:00:00Z"}}, err
}
