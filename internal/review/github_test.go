package review_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/forge/github"
	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/review"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// object is a JSON object as in GitHub's documentation, with used and unused fields.
type object = map[string]any

// gitHub implements the used part of GitHub's REST API. Tests can change its answers.
type gitHub struct {
	t       *testing.T
	server  *httptest.Server
	answers map[string]any // by path
	perPage int            // maximum page size of the server, as a proxy may limit it
	noLinks bool           // to the next page
	// meddle answers in place of the server if it returns true.
	meddle func(w http.ResponseWriter, r *http.Request) bool
	asked  []string          // paths with their queries
	paused []time.Duration   // between retries, in whole seconds
	http   http.RoundTripper // of the client, if not nil
	clock  bool              // waits by the clock
}

const (
	repository = "acme/exceptions"
	token      = "ghs_0123456789"
	api        = "/repos/" + repository
)

// The commits of the repository and of the pull request.
var (
	mergeCommit = strings.Repeat("c", 40)
	baseCommit  = strings.Repeat("b", 40)
	headCommit  = strings.Repeat("4", 40)
	headTree    = strings.Repeat("7", 40)
	unsigned    = strings.Repeat("9", 40) // the folder
	blob        = strings.Repeat("5", 40)
)

// newGitHub has pull request 12 of alice. It was merged into main as mergeCommit, and approved by
// bob, who has write access.
func newGitHub(t *testing.T) *gitHub {
	t.Helper()
	g := &gitHub{t: t, perPage: 100}
	g.server = httptest.NewServer(g)
	t.Cleanup(g.server.Close)
	g.answers = map[string]any{
		api + "/commits/" + mergeCommit + "/pulls": []any{pullRequest(12)},
		api + "/pulls/12":                          with(pullRequest(12), "commits", 1),
		api + "/pulls/12/reviews":                  []any{given(1, bob, "APPROVED")},
		api + "/commits/" + headCommit:             commitOf(alice),
		api + "/git/trees/" + headTree:             tree(entry("unsigned", "tree", unsigned), entry("README.md", "blob", blob)),
		api + "/git/trees/" + unsigned:             tree(entry("copy.yaml", "blob", blob), entry("mongo.yaml", "blob", blob)),
	}
	g.allow(bob, "write")
	g.allow(carol, "admin")
	g.allow(dave, "read")
	return g
}

// ServeHTTP answers a request as GitHub does, page by page.
func (g *gitHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.asked = append(g.asked, r.URL.RequestURI())
	if r.Header.Get("Authorization") != "Bearer "+token {
		reply(w, http.StatusUnauthorized, object{"message": "Bad credentials"})
		return
	}
	if g.meddle != nil && g.meddle(w, r) {
		return
	}
	found, there := g.answers[r.URL.Path]
	if !there {
		reply(w, http.StatusNotFound, object{"message": "Not Found", "documentation_url": "https://docs.github.com/rest", "status": "404"})
		return
	}
	items, isList := found.([]any)
	if !isList {
		reply(w, http.StatusOK, found)
		return
	}
	size, page := number(r, "per_page", 30), number(r, "page", 1)
	size = min(size, g.perPage)
	from, to := min((page-1)*size, len(items)), min(page*size, len(items))
	if to < len(items) && !g.noLinks {
		// The address is on another host: the client must not follow it.
		w.Header().Set("Link", `<http://elsewhere.example/?page=2>; rel="next", <http://elsewhere.example/?page=9>; rel="last"`)
	}
	reply(w, http.StatusOK, items[from:to])
}

func number(r *http.Request, name string, otherwise int) int {
	if n, err := strconv.Atoi(r.URL.Query().Get(name)); err == nil {
		return n
	}
	return otherwise
}

func reply(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

// config is for this server, with one required approval.
func (g *gitHub) config() review.Config {
	g.t.Helper()
	access := github.Config{HTTP: g.server.Client(), APIURL: g.server.URL, ServerURL: "https://github.com", Repository: repository, Token: token}
	if g.http != nil {
		access.HTTP = &http.Client{Transport: g.http}
	}
	if !g.clock {
		access.Timing.Sleep = func(_ context.Context, d time.Duration) error {
			g.paused = append(g.paused, d.Truncate(time.Second))
			return nil
		}
	}
	client := must.Get(github.New(access))(g.t)
	return review.Config{Source: review.SourceAPI, Branch: "main", RequireApprovals: 1, History: newHistory(), Reviews: client}
}

// People and a bot that review.
var (
	alice = account(1, "alice", "User")
	bob   = account(2, "bob", "User")
	carol = account(3, "carol", "User")
	dave  = account(4, "dave", "User")
	robot = account(5, "merge-helper[bot]", "Bot")
)

func account(id int, login, kind string) object {
	return object{"id": id, "login": login, "type": kind, "site_admin": false, "node_id": "MDQ6VXNlcjE=", "html_url": "https://github.com/" + login}
}

func pullRequest(number int) object {
	return object{
		"number": number, "state": "closed", "title": "Let mongo run as root", "draft": false,
		"html_url": fmt.Sprintf("https://github.com/%s/pull/%d", repository, number),
		"user":     alice, "merged_at": "2026-11-20T10:11:12Z", "merge_commit_sha": mergeCommit,
		"head":               object{"ref": "mongo", "sha": headCommit, "label": "acme:mongo", "repo": object{"full_name": repository}},
		"base":               object{"ref": "main", "sha": baseCommit, "label": "acme:main", "repo": object{"full_name": repository}},
		"author_association": "MEMBER",
	}
}

// given is a review; its number determines its time.
func given(id int, by object, state string) object {
	return object{"id": id, "user": by, "state": state, "body": "", "commit_id": headCommit, "author_association": "OWNER",
		"submitted_at": fmt.Sprintf("2026-11-20T09:%02d:%02dZ", id/60, id%60)}
}

// commitOf is the approved commit, with an author.
func commitOf(by object) object {
	return object{"sha": headCommit, "author": by, "committer": account(19864447, "web-flow", "User"),
		"commit": object{"message": "Ask for mongo", "tree": object{"sha": headTree}}, "files": []any{}}
}

func tree(entries ...any) object { return object{"sha": headTree, "tree": entries, "truncated": false} }

func entry(name, kind, hash string) object {
	mode := map[string]string{"blob": "100644", "tree": "040000"}[kind]
	return object{"path": name, "mode": mode, "type": kind, "sha": hash}
}

// with returns the object with another value.
func with(o object, key string, value any) object {
	out := maps.Clone(o)
	out[key] = value
	return out
}

// set puts a value deep into an answer.
func (g *gitHub) set(at string, value any, keys ...any) {
	g.t.Helper()
	where, there := g.answers[at]
	must.That(g.t, there, "there is no answer at %s", at)
	for i, key := range keys[:len(keys)-1] {
		switch k := key.(type) {
		case string:
			where = where.(object)[k]
		case int:
			where = where.([]any)[k]
		default:
			g.t.Fatalf("step %d is of type %T", i, key)
		}
	}
	where.(object)[keys[len(keys)-1].(string)] = value
}

func (g *gitHub) allow(who object, permission string) {
	g.answers[path.Join(api, "collaborators", who["login"].(string), "permission")] = object{"permission": permission, "role_name": permission, "user": who}
}

func (g *gitHub) reviews(all ...any) { g.answers[api+"/pulls/12/reviews"] = all }

// change makes a case of the pull request.
type change = func(g *gitHub, c *review.Config)

// reviewed is a pull request with these reviews.
func reviewed(all ...any) change { return func(g *gitHub, _ *review.Config) { g.reviews(all...) } }

// setting replaces an answer, or a value in it.
func setting(at string, value any, keys ...any) change {
	return func(g *gitHub, _ *review.Config) {
		if len(keys) == 0 {
			g.answers[at] = value
			return
		}
		g.set(at, value, keys...)
	}
}

// history is a repository in memory.
type history struct {
	commits map[string]git.Commit
	files   map[string]string // by commit:path
}

func newHistory() *history {
	return &history{
		commits: map[string]git.Commit{
			mergeCommit: {Message: "Merge pull request #12", Author: git.Stamp{Email: "alice@example.com"}, Parents: hashes(baseCommit, headCommit)},
			baseCommit:  {Message: "Begin", Author: git.Stamp{Email: "alice@example.com"}},
		},
		files: map[string]string{},
	}
}

func (h *history) Commit(hash git.Hash) (*git.Commit, error) {
	c, there := h.commits[hash.String()]
	if !there {
		return nil, fmt.Errorf("object not found")
	}
	return &c, nil
}

// hashes returns the hashes of texts.
func hashes(texts ...string) (all []git.Hash) {
	for _, text := range texts {
		all = append(all, git.NewHash(text))
	}
	return all
}

func (h *history) ReadFile(commit git.Hash, name string) ([]byte, error) {
	if _, err := h.Commit(commit); err != nil {
		return nil, err
	}
	text, there := h.files[commit.String()+":"+name]
	if !there {
		return nil, fmt.Errorf("find %q: %w", name, errAbsent)
	}
	return []byte(text), nil
}

// The pull request that added a commit.
func TestPullRequest(t *testing.T) {
	at := api + "/commits/" + mergeCommit + "/pulls"
	other := strings.Repeat("d", 40)
	for name, tc := range map[string]struct {
		change change
		want   string
	}{
		"none":                       {setting(at, []any{}), review.ReasonNoPullRequest},
		"none, and nothing is asked": {func(g *gitHub, c *review.Config) { g.answers[at] = []any{}; c.RequireApprovals = 0 }, "no pull request"},
		"not merged":                 {setting(at, nil, 0, "merged_at"), review.ReasonNoPullRequest},
		"into another branch":        {setting(at, "staging", 0, "base", "ref"), review.ReasonNoPullRequest},
		"of another repository":      {setting(at, "mallory/exceptions", 0, "base", "repo", "full_name"), review.ReasonNoPullRequest},
		"whose repository is gone":   {setting(at, nil, 0, "base", "repo"), review.ReasonNoPullRequest},
		"from a fork":                {setting(at, "alice/exceptions", 0, "head", "repo", "full_name"), "bob"},
		"from a fork that is gone":   {setting(at, nil, 0, "head", "repo"), "bob"},
		"merged as another commit": {func(g *gitHub, c *review.Config) {
			g.set(at, other, 0, "merge_commit_sha")
			c.History.(*history).commits[other] = git.Commit{Parents: hashes(baseCommit, headCommit)}
		}, review.ReasonNoPullRequest},
		"merged as a commit that the clone lacks": {setting(at, other, 0, "merge_commit_sha"), "unknown: object not found"},
		"merged as no commit":                     {setting(at, "../x", 0, "merge_commit_sha"), "unknown: it was merged as"},
		"two":                                     {setting(at, []any{pullRequest(12), pullRequest(13)}), "unknown: 2 pull requests"},
		"more than are looked at": {func(g *gitHub, _ *review.Config) {
			var all []any
			for i := range 21 {
				all = append(all, pullRequest(12+i))
			}
			g.answers[at] = all
		}, "unknown: more than 20"},
		"two, one of another branch": {setting(at, []any{with(pullRequest(13), "base", object{"ref": "staging", "repo": object{"full_name": repository}}), pullRequest(12)}), "bob"},
		"no number": {func(g *gitHub, _ *review.Config) {
			g.set(at, 0, 0, "number")
			g.set(at, "https://github.com/acme/exceptions/pull/0", 0, "html_url")
		}, "unknown: has the number 0"},
		"an address elsewhere":          {setting(at, "https://mallory.example/acme/exceptions/pull/12", 0, "html_url"), "unknown: its address"},
		"an address of another":         {setting(at, "https://github.com/acme/exceptions/pull/13", 0, "html_url"), "unknown: its address"},
		"an address with a line in it":  {setting(at, "https://github.com/acme/exceptions/pull/12\nx", 0, "html_url"), "unknown: its address"},
		"a login that is none":          {setting(at, account(1, "alice, bob", "User"), 0, "user"), "unknown: is not a login"},
		"nobody who asked":              {setting(at, nil, 0, "user"), "unknown: does not state its author"},
		"a last commit that is none":    {setting(at, "HEAD", 0, "head", "sha"), "unknown: its last commit"},
		"a bot that asked":              {setting(at, robot, 0, "user"), "bob"},
		"the server does not know it":   {func(g *gitHub, _ *review.Config) { delete(g.answers, at) }, "unknown: returned 404"},
		"the repository in other cases": {setting(at, "ACME/Exceptions", 0, "base", "repo", "full_name"), "bob"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGitHub(t)
			c := g.config()
			tc.change(g, &c)
			wanted(t, outcome(t, g, c), tc.want)
		})
	}
}

// A rebase merge puts every commit of a pull request on the branch. The last one is the merge commit of the API.
func TestRebased(t *testing.T) {
	last := strings.Repeat("e", 40)
	for name, tc := range map[string]struct {
		commits int
		between int // commits between the one that added the file and the last
		number  int // of the pull request in the answer
		want    string
	}{
		"the one before the last of two":   {2, 0, 12, "bob"},
		"the first of three":               {3, 1, 12, "bob"},
		"the one before the only one":      {1, 0, 12, review.ReasonNoPullRequest},
		"the one before the first of two":  {2, 1, 12, review.ReasonNoPullRequest},
		"of more commits than are read":    {1001, 0, 12, "unknown: 1 to 1000"},
		"of no commits, says the server":   {0, 0, 12, "unknown: 1 to 1000"},
		"the last of all that there is":    {1000, 0, 12, "bob"},
		"the number of commits of another": {2, 0, 13, "unknown: the answer is about pull request 13"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGitHub(t)
			c := g.config()
			h := c.History.(*history)
			h.commits[mergeCommit] = git.Commit{Parents: hashes(baseCommit)}
			above := mergeCommit
			for i := range tc.between {
				commit := strings.Repeat(string(rune('0'+i)), 40)
				h.commits[commit] = git.Commit{Parents: hashes(above)}
				above = commit
			}
			h.commits[last] = git.Commit{Parents: hashes(above)}
			g.set(api+"/commits/"+mergeCommit+"/pulls", last, 0, "merge_commit_sha")
			g.set(api+"/pulls/12", tc.commits, "commits")
			g.set(api+"/pulls/12", tc.number, "number")
			wanted(t, outcome(t, g, c), tc.want)
		})
	}
}

// One look-up is enough for all files of a merge.
func TestOneLookUp(t *testing.T) {
	g := newGitHub(t)
	r := must.Get(review.New(g.config()))(t)
	o := mongo()
	for range 99 {
		o.Files = append(o.Files, o.Files[0])
	}
	for i, want := range []int{6, 5} { // bob's write access is known by then
		g.asked = nil
		must.Get(r.Record(t.Context(), o))(t)
		expect.That(t, len(g.asked) == want, "merge %d: %d requests: %q", i, len(g.asked), g.asked)
	}
}
