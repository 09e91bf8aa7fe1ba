package commit_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/forge"
	"github.com/polex-dev/polex/internal/forge/github"
	"github.com/polex-dev/polex/internal/forge/githubtest"
	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/retry"
	"github.com/polex-dev/polex/test/expect"
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
	o.write("README.md", "# More\n")
	o.commit("Another commit")
	o.remote = o.bare()
	var err error
	o.server, err = githubtest.New(o.remote.dir, rules...)
	o.must(err)
	t.Cleanup(o.server.Close)
	timing := retry.Timing{Sleep: func(_ context.Context, d time.Duration) error {
		o.waited = append(o.waited, d.Truncate(time.Second))
		return nil
	}}
	o.client, err = github.New(github.Config{HTTP: &http.Client{}, APIURL: o.server.URL, ServerURL: "https://github.com",
		Repository: githubtest.Repository, Token: githubtest.Token, Timing: timing})
	o.must(err)
	return o
}

// push moves all pending files by a commit that the server makes, or by git.
func (o *onServer) push(ctx context.Context, by forge.Commits, edit func(*commit.Push), propose commit.Propose) (commit.Result, error) {
	o.tb.Helper()
	c, err := commit.Open(commit.Options{Dir: o.dir})
	o.must(err)
	defer c.Close()
	to, err := c.Remote(commit.Remote{})
	o.must(err)
	p := commit.Push{To: to, By: by, Attempts: 3}
	if edit != nil {
		edit(&p)
	}
	return c.Push(ctx, bot, p, propose)
}

// branches returns the branches of the remote.
func (o *onServer) branches() string {
	o.tb.Helper()
	return strings.Join(strings.Fields(o.remote.git("for-each-ref", "--format=%(refname:short)", "refs/heads")), " ")
}

// TestByServer: a branch that accepts only verified commits rejects a git push, and accepts the
// commit of the server. The clone follows it.
func TestByServer(t *testing.T) {
	o := newOnServer(t, "required_signatures")
	before := o.head()
	var refused *commit.RefusedError
	if _, err := o.push(t.Context(), nil, nil, seal("")); !errors.As(err, &refused) || !strings.Contains(err.Error(), "verified signatures") {
		t.Fatalf("a git push: %v", err)
	}
	result, err := o.push(t.Context(), o.client, nil, seal(""))
	if err != nil || result.Left != "" {
		t.Fatalf("%s %q, %v", result.Commit, result.Left, err)
	}
	if at := result.Commit.String(); o.remote.head() != at || o.head() != at || o.line("rev-parse", "origin/main") != at || o.line("rev-parse", at+"^") != before {
		t.Errorf("the remote is at %s, the clone at %s, and the commit is %s", o.remote.head(), o.head(), at)
	}
	expect.Is(t, "the commit", "GitHub: Sign 3", o.line("log", "-1", "--format=%cn: %s"))
	if got := o.remote.git("ls-tree", "-r", "--name-only", "main"); got != "README.md\nsigned.txt\nsigned/a.yaml\nsigned/old.yaml\nsigned/team/b.yml\nsigned/team/deep/c.json\n" {
		t.Errorf("there is %s", got)
	}
	expect.Is(t, "branches", "main", o.branches())
	if got := o.line("for-each-ref", "--format=%(refname)", "refs/remotes", "refs/polex"); got != "refs/remotes/origin/main" {
		t.Errorf("references in the clone: %s", got)
	}
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
		want     string // in the error; empty if it succeeds
		other    bool   // ErrOtherCommit
		branches string // if not main alone
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
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o := newOnServer(t, "required_signatures")
			o.server.Faults = maps.Clone(tc.faults)
			before := o.remote.head()
			result, err := o.push(t.Context(), o.client, nil, seal(""))
			expect.Outcome(t, err, tc.want)
			expect.Is(t, "another commit", tc.other, errors.Is(err, commit.ErrOtherCommit))
			count := "2"
			if tc.want == "" {
				count = "3"
			} else if o.head() != before {
				t.Error("the clone has moved")
			}
			if n := o.remote.line("rev-list", "--count", "main"); n != count {
				t.Errorf("main has %s commits, want %s", n, count)
			}
			if got := o.branches(); got != "main" && (tc.branches == "" || !strings.HasPrefix(got, tc.branches)) {
				t.Errorf("branches: %s", got)
			}
			if !strings.HasPrefix(result.Left, tc.left) || tc.left == "" && result.Left != "" {
				t.Errorf("left: %q", result.Left)
			}
			if tc.waited != 0 && (len(o.waited) == 0 || o.waited[0] != tc.waited) {
				t.Errorf("it waited %v, want %v", o.waited, tc.waited)
			}
			if err != nil && strings.Contains(err.Error(), githubtest.Token) {
				t.Errorf("it says the token: %v", err)
			}
			o.clean()
			// Without the fault, the next run completes the change.
			o.server.Faults = nil
			if _, err := o.push(t.Context(), o.client, nil, seal("")); err != nil {
				t.Errorf("the next run: %v", err)
			}
			if n := o.remote.line("rev-list", "--count", "main"); n != "3" || o.head() != o.remote.head() {
				t.Errorf("after the next run, main has %s commits", n)
			}
			o.clean()
		})
	}
}

// TestByServerOutrun: others push before main is moved. The change is made again on their commit,
// up to a limit.
func TestByServerOutrun(t *testing.T) {
	for times := 1; times <= 3; times++ {
		o := newOnServer(t)
		other := o.remote.clone("other")
		pushed := 0
		o.server.Before = func(operation string) {
			if operation == githubtest.Move && pushed < times {
				pushed++
				other.write("other.txt", strings.Repeat("x", pushed))
				other.commit("Other")
				other.git("push", "--quiet")
			}
		}
		result, err := o.push(t.Context(), o.client, nil, seal(""))
		if times == 3 {
			if !errors.Is(err, commit.ErrOutrun) || o.remote.line("log", "-1", "--format=%s", "main") != "Other" {
				t.Errorf("three times: %s, %v", result.Commit, err)
			}
		} else if err != nil || o.remote.head() != result.Commit.String() || o.head() != result.Commit.String() || o.read("other.txt") != strings.Repeat("x", times) {
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
		o.git("push", "--quiet", "origin", "HEAD:refs/heads/"+branch)
	}
	expect.Value(o.push(t.Context(), o.client, nil, seal("")))(t)
	slices.Sort(kept)
	if got := strings.Fields(o.branches()); !slices.Equal(got, kept) {
		t.Errorf("branches: %q, want %q", got, kept)
	}
	for i := range 12 {
		o.git("push", "--quiet", "origin", "HEAD:refs/heads/"+name(2*time.Hour, fmt.Sprint(i)))
	}
	o.write("unsigned/a.yaml", "more: 1\n")
	o.commit("Ask for more")
	o.git("push", "--quiet")
	expect.Value(o.push(t.Context(), o.client, nil, seal("")))(t)
	expect.Is(t, "branches", len(kept)+2, len(strings.Fields(o.branches())))
}

// TestByServerMovedBranch: somebody else commits on the temporary branch first.
func TestByServerMovedBranch(t *testing.T) {
	o := newOnServer(t)
	other := o.remote.clone("other")
	o.server.Before = func(operation string) {
		if operation != githubtest.Commit {
			return
		}
		_, temporary, _ := strings.Cut(o.branches(), " ")
		other.write("signed/evil.yaml", "evil: 1\n")
		other.commit("Sign 3")
		other.git("push", "--quiet", "origin", "HEAD:refs/heads/"+temporary)
	}
	before := o.remote.head()
	_, err := o.push(t.Context(), o.client, nil, seal(""))
	expect.Cause(t, err, commit.ErrOtherCommit)
	if o.remote.head() != before || o.branches() != "main" {
		t.Errorf("main is at %s, and there is %s", o.remote.head(), o.branches())
	}
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
				o.git("push", "--quiet", "origin", "HEAD:refs/heads/polex/signed-1")
			}
			before := o.remote.head()
			result, err := o.push(t.Context(), o.client, as, seal(""))
			expect.Outcome(t, err, tc.want)
			want := "main polex/signed-1"
			switch {
			case tc.want == "":
				expect.Is(t, "it is at", result.Commit.String(), o.remote.line("rev-parse", "polex/signed-1"))
			case tc.taken:
				expect.Is(t, "it was moved to", before, o.remote.line("rev-parse", "polex/signed-1"))
			default:
				want = "main"
			}
			if got := o.branches(); got != want || o.remote.head() != before || o.head() != before {
				t.Errorf("branches %s, main at %s", got, o.remote.head())
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
			o.must(os.Chmod(o.path("signed/old.yaml"), 0o755))
			o.git("update-index", "--chmod=+x", "signed/old.yaml")
			o.commit("Run")
			o.git("push", "--quiet")
		}, content: "new: 1\n", want: `write "signed/old.yaml": the server cannot change its file mode 0100755 to 100644`},
		"a branch with the name of the folder of the temporary ones": {prepare: func(o *onServer) {
			o.git("push", "--quiet", "origin", "HEAD:refs/heads/polex")
		}, content: "new: 1\n", want: `cannot create a branch below an existing one: the remote has a branch "polex"`},
		"too much": {content: strings.Repeat("x", github.MaxCommit/4*3+1), want: "the limit for GitHub's API is 40 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOnServer(t)
			if tc.prepare != nil {
				tc.prepare(o)
			}
			propose := func(*git.Tree) (commit.Change, error) {
				return commit.Change{Write: map[string][]byte{"signed/old.yaml": []byte(tc.content)}, Message: "Write\n"}, nil
			}
			c, err := commit.Open(commit.Options{Dir: o.dir})
			o.must(err)
			to, err := c.Remote(commit.Remote{})
			o.must(err)
			expect.Error(t, c.RehearsePush(t.Context(), commit.Push{To: to, By: o.client}, propose), tc.want)
			o.must(c.Close())
			_, err = o.push(t.Context(), o.client, nil, propose)
			expect.Error(t, err, tc.want)
			expect.Is(t, "requests", 0, len(o.server.Done()))
		})
	}
}

// TestByServerCancelled: a cancelled run still deletes its temporary branch, and moves nothing.
func TestByServerCancelled(t *testing.T) {
	o := newOnServer(t)
	before := o.remote.head()
	ctx, cancel := context.WithCancel(t.Context())
	o.server.Before = func(operation string) {
		if operation == githubtest.Commit {
			cancel()
		}
	}
	_, err := o.push(ctx, o.client, nil, seal(""))
	expect.Cause(t, err, context.Canceled)
	if o.remote.head() != before || o.branches() != "main" || !slices.Contains(o.server.Done(), githubtest.Delete) {
		t.Errorf("main is at %s, and there is %s", o.remote.head(), o.branches())
	}
}
