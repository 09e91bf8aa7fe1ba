//go:build unix

package commit_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/forge"
	"github.com/polex-dev/polex/internal/forge/github"
	"github.com/polex-dev/polex/internal/forge/githubtest"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/retry"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// onServer is a clone, its remote with the API of GitHub, and a client of it.
type onServer struct {
	*repository
	remote *repository
	server *githubtest.Server
	client forge.Commits
	waited []time.Duration
}

func newOnServer(t *testing.T, rules ...string) *onServer {
	t.Helper()
	o := &onServer{repository: newRepository(t, waiting)}
	o.CommitFile("Another commit", "README.md", "# More\n")
	o.remote = o.bare()
	o.server = must.Get(githubtest.New(o.remote.Dir, rules...))(t)
	t.Cleanup(o.server.Close)
	timing := retry.Timing{Sleep: func(_ context.Context, d time.Duration) error {
		o.waited = append(o.waited, d.Truncate(time.Second))
		return nil
	}}
	o.client = must.Get(github.New(github.Config{HTTP: &http.Client{}, APIURL: o.server.URL, ServerURL: "https://github.com",
		Repository: githubtest.Repository, Token: githubtest.Token, Timing: timing}))(t)
	return o
}

// push moves all pending files by a commit that the server makes, or by git.
func (o *onServer) push(ctx context.Context, by forge.Commits, edit func(*commit.Push), propose commit.Propose) (commit.Result, error) {
	o.TB.Helper()
	atOnce := retry.Timing{Sleep: func(context.Context, time.Duration) error { return nil }}
	c := must.Get(commit.Open(commit.Options{Dir: o.Dir, Timing: atOnce}))(o.TB)
	defer c.Close()
	p := commit.Push{To: must.Get(c.Remote(commit.Remote{}))(o.TB), By: by}
	if edit != nil {
		edit(&p)
	}
	return c.Push(ctx, bot, p, propose)
}

// branches returns the branches of the remote.
func (o *onServer) branches() string {
	o.TB.Helper()
	return strings.Join(strings.Fields(o.remote.Git("for-each-ref", "--format=%(refname:short)", "refs/heads")), " ")
}

// TestByServer: a branch that accepts only verified commits rejects a git push, and accepts the
// commit of the server. The clone follows it.
func TestByServer(t *testing.T) {
	o := newOnServer(t, "required_signatures")
	before := o.Head()
	var refused *commit.RefusedError
	if _, err := o.push(t.Context(), nil, nil, seal("")); !errors.As(err, &refused) || !strings.Contains(err.Error(), "verified signatures") {
		t.Fatalf("a git push: %v", err)
	}
	result, err := o.push(t.Context(), o.client, nil, seal(""))
	must.That(t, err == nil && result.Left == "", "%s %q, %v", result.Commit, result.Left, err)
	if at := result.Commit.String(); o.remote.Head() != at || o.Head() != at || o.Line("rev-parse", "origin/main") != at || o.Line("rev-parse", at+"^") != before {
		t.Errorf("the remote is at %s, the clone at %s, and the commit is %s", o.remote.Head(), o.Head(), at)
	}
	expect.Is(t, "the commit", "GitHub: Sign 3", o.Line("log", "-1", "--format=%cn: %s"))
	if got := o.remote.Git("ls-tree", "-r", "--name-only", "main"); got != "README.md\nsigned.txt\nsigned/a.yaml\nsigned/old.yaml\nsigned/team/b.yml\nsigned/team/deep/c.json\n" {
		t.Errorf("there is %s", got)
	}
	expect.Is(t, "branches", "main", o.branches())
	expect.Is(t, "references in the clone",
		"refs/remotes/origin/main", o.Line("for-each-ref", "--format=%(refname)", "refs/remotes", "refs/polex"))
	o.clean()
	if result, err = o.push(t.Context(), o.client, nil, seal("")); err != nil || !result.Commit.IsZero() {
		t.Errorf("a second time: %s, %v", result.Commit, err)
	}
}

// TestByServerFaults: with each fault, the change is on main once or not at all, and no temporary
// branch stays. The next run completes it.
func TestByServerFaults(t *testing.T) {
	for _, tc := range []struct {
		name     string
		faults   map[string][]string
		before   func(o *onServer, cancel func()) // instead of a fault: called before the server commits
		want     string                           // in the error; empty if it succeeds
		other    bool                             // ErrOtherCommit
		branches string                           // if not main alone
		left     string
		waited   time.Duration // before the first retry
	}{
		{name: "the answer to the commit is lost", faults: map[string][]string{githubtest.Commit: {githubtest.Lost}}},
		{name: "each answer to the commit is lost", faults: map[string][]string{githubtest.Commit: {githubtest.Lost, githubtest.Lost, githubtest.Lost, githubtest.Lost}}},
		{name: "the commit does not arrive at first", faults: map[string][]string{githubtest.Commit: {githubtest.Late, githubtest.Late}}},
		{name: "the commit never arrives", faults: map[string][]string{githubtest.Commit: {githubtest.Late, githubtest.Late, githubtest.Late, githubtest.Late}}, want: "(asked 4 times)"},
		{name: "the commit is only said to be made", faults: map[string][]string{githubtest.Commit: {githubtest.Nothing}}, want: "none on origin/polex/commit-", other: true},
		{name: "the token may not commit", faults: map[string][]string{githubtest.Commit: {githubtest.Forbidden}}, want: "Resource not accessible by integration"},
		{name: "the token may not create a branch", faults: map[string][]string{githubtest.Create: {githubtest.Forbidden}}, want: "Resource not accessible by integration"},
		{name: "a secondary rate limit", faults: map[string][]string{githubtest.Commit: {githubtest.Limit}}, waited: time.Second},
		{name: "a secondary rate limit without a time", faults: map[string][]string{githubtest.Commit: {githubtest.LimitText}}, waited: time.Minute},
		{name: "rate limits everywhere", faults: map[string][]string{githubtest.Create: {githubtest.Limit}, githubtest.Move: {githubtest.Limit}, githubtest.Delete: {githubtest.Limit}}, waited: time.Second},
		{name: "the answer to the branch is lost", faults: map[string][]string{githubtest.Create: {githubtest.Lost}}},
		{name: "the answer to the move is lost", faults: map[string][]string{githubtest.Move: {githubtest.Lost, githubtest.Lost, githubtest.Lost, githubtest.Lost}}},
		{name: "the move never arrives", faults: map[string][]string{githubtest.Move: {githubtest.Late, githubtest.Late, githubtest.Late, githubtest.Late}}, want: "move origin/main: PATCH http://127.0.0.1:"},
		{name: "main is only said to be moved", faults: map[string][]string{githubtest.Move: {githubtest.Nothing}}, want: "the server reported success, and origin/main is at "},
		{name: "main may not be moved", faults: map[string][]string{githubtest.Move: {githubtest.Forbidden}}, want: "origin/main rejected the commit"},
		{name: "the answer to the deletion is lost", faults: map[string][]string{githubtest.Delete: {githubtest.Lost}}},
		{name: "the temporary branch cannot be deleted", faults: map[string][]string{githubtest.Delete: {githubtest.Forbidden}}, branches: "main polex/commit-", left: "the temporary branch origin/polex/commit-"},
		{name: "main may not be moved, and the temporary branch not be deleted", faults: map[string][]string{githubtest.Move: {githubtest.Forbidden}, githubtest.Delete: {githubtest.Forbidden}},
			want: "; the temporary branch origin/polex/commit-", branches: "main polex/commit-"},
		{name: "a file more", faults: map[string][]string{githubtest.Commit: {githubtest.OtherTree}}, want: "has another tree", other: true},
		{name: "a file more, and the answer is lost", faults: map[string][]string{githubtest.Commit: {githubtest.OtherTreeLost}}, want: "has another tree", other: true},
		{name: "another parent", faults: map[string][]string{githubtest.Commit: {githubtest.OtherParent}}, want: "has another parent", other: true},
		{name: "a trailer more", faults: map[string][]string{githubtest.Commit: {githubtest.OtherMessage}}, want: "has another message", other: true},
		{name: "somebody else commits on the temporary branch first", want: "has another tree", other: true, before: func(o *onServer, _ func()) {
			_, temporary, _ := strings.Cut(o.branches(), " ")
			other := o.remote.clone("other")
			other.CommitFile("Sign 3", "signed/evil.yaml", "evil: 1\n")
			other.Git("push", "--quiet", "origin", "HEAD:refs/heads/"+temporary)
		}},
		{name: "a cancelled run", want: context.Canceled.Error(), before: func(_ *onServer, cancel func()) { cancel() }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o := newOnServer(t, "required_signatures")
			o.server.Faults = maps.Clone(tc.faults)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tc.before != nil {
				o.server.Before = func(operation string) {
					if operation == githubtest.Commit {
						tc.before(o, cancel)
					}
				}
			}
			before := o.remote.Head()
			result, err := o.push(ctx, o.client, nil, seal(""))
			expect.Outcome(t, err, tc.want)
			expect.Is(t, "another commit", tc.other, errors.Is(err, commit.ErrOtherCommit))
			count := "2"
			if tc.want == "" {
				count = "3"
			} else if o.Head() != before {
				t.Error("the clone has moved")
			}
			expect.Is(t, "main", count, o.remote.Line("rev-list", "--count", "main"))
			if got := o.branches(); got != "main" && (tc.branches == "" || !strings.HasPrefix(got, tc.branches)) {
				t.Errorf("branches: %s", got)
			}
			expect.That(t, strings.HasPrefix(result.Left, tc.left) && (tc.left != "" || result.Left == ""),
				"left: %q", result.Left)
			if tc.waited != 0 && (len(o.waited) == 0 || o.waited[0] != tc.waited) {
				t.Errorf("it waited %v, want %v", o.waited, tc.waited)
			}
			expect.That(t, err == nil || !strings.Contains(err.Error(), githubtest.Token), "it says the token: %v", err)
			o.clean()
			// Without the fault, the next run completes the change.
			o.server.Faults, o.server.Before = nil, nil
			if _, err := o.push(t.Context(), o.client, nil, seal("")); err != nil {
				t.Errorf("the next run: %v", err)
			}
			n := o.remote.Line("rev-list", "--count", "main")
			expect.That(t, n == "3" && o.Head() == o.remote.Head(), "after the next run, main has %s commits", n)
			o.clean()
		})
	}
}

// TestByServerOutrun: others push before main is moved. The change is made again on their commit, up to a limit.
func TestByServerOutrun(t *testing.T) {
	for _, times := range []int{1, 2, 10} {
		o := newOnServer(t)
		other := o.remote.clone("other")
		pushed := 0
		o.server.Before = func(operation string) {
			if operation == githubtest.Move && pushed < times {
				pushed++
				other.CommitFile("Other", "other.txt", strings.Repeat("x", pushed))
				other.Git("push", "--quiet")
			}
		}
		result, err := o.push(t.Context(), o.client, nil, seal(""))
		if times == 10 {
			if !errors.Is(err, commit.ErrOutrun) || o.remote.Line("log", "-1", "--format=%s", "main") != "Other" {
				t.Errorf("each time: %s, %v", result.Commit, err)
			}
		} else if err != nil || o.remote.Head() != result.Commit.String() || o.Head() != result.Commit.String() || o.Read("other.txt") != strings.Repeat("x", times) {
			t.Errorf("%d times: %s, %v", times, result.Commit, err)
		}
		expect.Is(t, "branches", "main", o.branches())
		o.clean()
	}
}

// TestByServerLeft: a run deletes the temporary branches that earlier runs left, up to a limit. It
// keeps those of runs that may be at work, and branches of other names.
func TestByServerLeft(t *testing.T) {
	o := newOnServer(t)
	now := time.Now().UTC()
	name := func(age time.Duration, end string) string {
		return "polex/commit-" + now.Add(-age).Format("20060102t150405z") + "-" + end
	}
	kept := []string{"main", "polex/commit-mine", name(50*time.Minute, "young"), "polex/commits/20200101t000000z-x", "polex/signed-20200101t000000z-x"}
	for _, branch := range append([]string{name(70*time.Minute, "old")}, kept[1:]...) {
		o.Git("push", "--quiet", "origin", "HEAD:refs/heads/"+branch)
	}
	must.Get(o.push(t.Context(), o.client, nil, seal("")))(t)
	slices.Sort(kept)
	got := strings.Fields(o.branches())
	expect.That(t, slices.Equal(got, kept), "branches: %q, want %q", got, kept)
	for i := range 12 {
		o.Git("push", "--quiet", "origin", "HEAD:refs/heads/"+name(2*time.Hour, fmt.Sprint(i)))
	}
	o.CommitFile("Ask for more", "unsigned/a.yaml", "more: 1\n")
	o.Git("push", "--quiet")
	must.Get(o.push(t.Context(), o.client, nil, seal("")))(t)
	expect.Is(t, "branches", len(kept)+2, len(strings.Fields(o.branches())))
}

// TestByServerOnBranch: for a pull request, the server creates the branch at the compared commit. It
// never moves a branch of somebody else.
func TestByServerOnBranch(t *testing.T) {
	as := func(p *commit.Push) { p.As = "polex/signed-1" }
	for name, tc := range map[string]struct {
		taken  bool
		faults map[string][]string
		want   string
	}{
		"new":                {},
		"the answer is lost": {faults: map[string][]string{githubtest.Create: {"", githubtest.Lost}}},
		"only said":          {faults: map[string][]string{githubtest.Create: {"", githubtest.Nothing}}, want: "couldn't find remote ref refs/heads/polex/signed-1"},
		"another tree":       {faults: map[string][]string{githubtest.Commit: {githubtest.OtherTree}}, want: "has another tree"},
		"taken":              {taken: true, want: "Reference already exists"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOnServer(t, "pull_request")
			o.server.Faults = tc.faults
			if tc.taken {
				o.Git("push", "--quiet", "origin", "HEAD:refs/heads/polex/signed-1")
			}
			before := o.remote.Head()
			result, err := o.push(t.Context(), o.client, as, seal(""))
			expect.Outcome(t, err, tc.want)
			want := "main polex/signed-1"
			switch {
			case tc.want == "":
				expect.Is(t, "it is at", result.Commit.String(), o.remote.Line("rev-parse", "polex/signed-1"))
			case tc.taken:
				expect.Is(t, "it was moved to", before, o.remote.Line("rev-parse", "polex/signed-1"))
			default:
				want = "main"
			}
			if got := o.branches(); got != want || o.remote.Head() != before || o.Head() != before {
				t.Errorf("branches %s, main at %s", got, o.remote.Head())
			}
		})
	}
}

// TestByServerCannot: what the API cannot commit is an error before anything is sent.
func TestByServerCannot(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(*onServer)
		content string
		want    string
	}{
		"an executable file": {prepare: func(o *onServer) {
			must.Do(o.TB, os.Chmod(o.Path("signed/old.yaml"), 0o755))
			o.Git("update-index", "--chmod=+x", "signed/old.yaml")
			o.Commit("Run")
			o.Git("push", "--quiet")
		}, content: "new: 1\n", want: `write "signed/old.yaml": the server cannot change its file mode 0100755 to 100644`},
		"a branch with the name of the folder of the temporary ones": {prepare: func(o *onServer) {
			o.Git("push", "--quiet", "origin", "HEAD:refs/heads/polex")
		}, content: "new: 1\n", want: `cannot create a branch below an existing one: the remote has a branch "polex"`},
		"too much": {content: strings.Repeat("x", github.MaxCommit/4*3+1), want: "the limit for GitHub's API is 40 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOnServer(t)
			if tc.prepare != nil {
				tc.prepare(o)
			}
			propose := writing("signed/old.yaml", tc.content)
			c := o.open()
			p := commit.Push{To: must.Get(c.Remote(commit.Remote{}))(t), By: o.client}
			expect.Error(t, c.RehearsePush(t.Context(), p, propose), tc.want)
			must.Do(t, c.Close())
			_, err := o.push(t.Context(), o.client, nil, propose)
			expect.Error(t, err, tc.want)
			expect.Is(t, "requests", 0, len(o.server.Done()))
		})
	}
}

// long is for cases that differ little from each other: without it, a test runs some of them. make e2e sets it.
var long = flag.Bool("long", false, "kill and cut at every place, which takes minutes")

// cutting serves the repositories in a folder by HTTP, and ends the connection within its answer number
// cut, after a part of the answer in percent.
type cutting struct {
	git          cgi.Handler
	cut, percent int
	closed       bool // only the end of the connection shows the end of an answer
	answers      atomic.Int32
}

func (c *cutting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	c.git.ServeHTTP(answer, r)
	body := answer.Body.Bytes()
	if int(c.answers.Add(1)) == c.cut {
		connection, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer connection.Close() //nolint:errcheck // it is cut
		length := fmt.Sprintf("Content-Length: %d\r\n", len(body))
		if c.closed {
			length = ""
		}
		_, _ = fmt.Fprintf(connection, "HTTP/1.1 %d OK\r\nContent-Type: %s\r\n%s\r\n%s",
			answer.Code, answer.Header().Get("Content-Type"), length, body[:len(body)*c.percent/100])
		return
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(body)
}

// TestAnswerCut: an answer that ends too early is asked for again: each one, after each part.
func TestAnswerCut(t *testing.T) {
	backend := strings.TrimSpace(newRepository(t, nil).Line("--exec-path")) + "/git-http-backend"
	for _, tc := range []struct {
		percent int
		closed  bool
	}{{0, false}, {50, false}, {99, false}, {1, true}, {50, true}, {99, true}} {
		if !*long && tc.percent != 50 {
			continue
		}
		met := 0
		for cut := 1; ; cut++ {
			r := newRepository(t, map[string]string{"a": strings.Repeat("abc\n", 100)})
			remote := r.bare()
			remote.Git("config", "http.receivepack", "true")
			other := remote.clone("other")
			other.CommitFile("Beside", "b", strings.Repeat("b\n", 5000))
			other.Git("push", "--quiet", "origin", "main")
			server := &cutting{cut: cut, percent: tc.percent, closed: tc.closed, git: cgi.Handler{Path: backend,
				Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(remote.Dir), "GIT_HTTP_EXPORT_ALL=1"}}}
			web := httptest.NewServer(server)
			r.Git("remote", "set-url", "origin", web.URL+"/"+filepath.Base(remote.Dir))
			clone := r.openWith(commit.Options{Timing: retry.Timing{
				Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}})
			to := commit.Remote{Name: "origin", Branch: "main"}
			_, _, err := clone.Ask(t.Context(), to)
			if err == nil {
				_, err = clone.Fetch(t.Context(), to)
			}
			_ = clone.Close()
			web.Close()
			expect.That(t, err == nil, "answer %d ends after %d %%, closed %t: %v", cut, tc.percent, tc.closed, err)
			if int(server.answers.Load()) < cut {
				break // there is no such answer
			}
			met++
		}
		expect.That(t, met >= 4, "%d answers were cut", met)
	}
}
