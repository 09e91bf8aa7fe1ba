package promotion_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/forge"
	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/internal/promotion/deliver"
	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// remote makes a bare repository as the upstream of main, and another clone of it.
func (r *repository) remote() (other *repository) {
	r.TB.Helper()
	dir := filepath.Join(r.TB.TempDir(), "remote.git")
	r.Git("clone", "--quiet", "--bare", ".", dir)
	r.Git("remote", "add", "origin", dir)
	r.Git("fetch", "--quiet")
	r.Git("branch", "--quiet", "--set-upstream-to=origin/main")
	other = repositoryAt(r.TB, r.Home, filepath.Join(r.TB.TempDir(), "other"))
	r.Git("clone", "--quiet", dir, other.Dir)
	return other
}

func (r *repository) pushed(message string) {
	r.TB.Helper()
	r.Commit(message)
	r.Git("push", "--quiet")
}

var toMain = commit.Push{To: commit.Remote{Name: "origin", Branch: "main"}}

// TestPushPlansAnew: changes by others between the signing and the push are respected.
func TestPushPlansAnew(t *testing.T) {
	for _, tc := range []struct {
		name    string
		others  func(*repository)
		moves   string
		skipped string // "file reason"
		want    string // of the error
	}{
		{name: "nothing", moves: "unsigned/a.yaml unsigned/b.yaml"},
		{name: "something else", others: func(r *repository) { r.Write("README.md", "x") }, moves: "unsigned/a.yaml unsigned/b.yaml"},
		{name: "one was changed", others: func(r *repository) { r.Write("unsigned/a.yaml", exceptionText("x")) },
			moves: "unsigned/b.yaml", skipped: "unsigned/a.yaml changed-since"},
		{name: "one became executable", others: func(r *repository) { must.Do(r.TB, os.Chmod(r.Path("unsigned/a.yaml"), 0o755)) },
			moves: "unsigned/b.yaml", skipped: "unsigned/a.yaml gone-since"},
		{name: "one was withdrawn", others: func(r *repository) { r.Git("rm", "--quiet", "unsigned/a.yaml") },
			moves: "unsigned/b.yaml", skipped: "unsigned/a.yaml gone-since"},
		{name: "both were signed", others: func(r *repository) { r.Git("mv", "unsigned", "signed-elsewhere") },
			skipped: "unsigned/a.yaml gone-since unsigned/b.yaml gone-since"},
		{name: "the target appeared", others: func(r *repository) { r.Write("signed/a.yaml", exceptionText("x")) }, want: pending.ReasonTargetExists},
		{name: "the exception was signed under another name", others: func(r *repository) { r.Write("signed/x.yaml", exceptionText("a")) }, want: pending.ReasonAlreadySigned},
		{name: "what is replaced has changed", others: func(r *repository) { r.Write("signed/c.yaml", stamped(exceptionText("c"))) }, want: "has changed since it was signed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := map[string]string{"unsigned/a.yaml": exceptionText("a"), "unsigned/b.yaml": exceptionText("b")}
			replace := tc.want == "has changed since it was signed"
			if replace {
				files["unsigned/c.yaml"], files["signed/c.yaml"] = exceptionText("c"), exceptionText("c")
			}
			r := newRepository(t, files)
			other := r.remote()
			q := must.Get(r.try(r.Dir, promotion.Options{Replace: replace}))(t)
			promotion, err := q.Signed(stamp(t, q.Documents()))
			must.Do(r.TB, err)
			if tc.others != nil {
				tc.others(other)
				other.pushed("Meanwhile")
			}
			head := r.Head()
			done, err := promotion.Make(context.Background(), deliver.To{Way: deliver.Push, By: *author(), Push: toMain})
			if tc.want != "" {
				expect.That(t, err != nil && strings.Contains(err.Error(), tc.want), "Push: %v, want %q", err, tc.want)
				var refused exception.Refusals
				expect.That(t, errors.As(err, &refused) != replace, "Push: %v is a refusal: %v", err, !replace)
				r.unchanged(head)
				return
			}
			must.Do(r.TB, err)
			var moves, skipped []string
			for _, m := range done.Moves {
				moves = append(moves, m.From)
			}
			for _, s := range done.Skipped {
				skipped = append(skipped, s.File, s.Reason)
				expect.That(t, s.Signed && strings.HasPrefix(s.Message, "this run signed it, but "),
					"%s was signed: %+v", s.File, s)
			}
			expect.Is(t, "moves", tc.moves, strings.Join(moves, " "))
			expect.Is(t, "skipped", tc.skipped, strings.Join(skipped, " "))
			r.unchanged(r.Line("rev-parse", "origin/main"))
			if message := r.Git("log", "-1", "--format=%B"); len(moves) == 1 && strings.Contains(message, "unsigned/a.yaml") {
				t.Errorf("the commit speaks of what it has not done:\n%s", message)
			}
		})
	}
}

// TestReplacedName: the name of a replaced file can be any text, and cannot add a line to the message.
func TestReplacedName(t *testing.T) {
	r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a"), "signed/x\nApproved-by: Eve <eve@example.com>\nx.yaml": exceptionText("a")})
	q, err := r.try(r.Dir, promotion.Options{Replace: true})
	must.Do(r.TB, err)
	_, hash, err := q.apply(stamp(t, q.Documents()), author())
	must.Do(r.TB, err)
	got := r.Git("log", "-1", "--format=%(trailers:key=Approved-by)")
	expect.That(t, strings.TrimSpace(got) == "", "the message has the trailer %q", got)
	got = r.Git("log", "-1", "--format=%(trailers:key=Polex-Replaces,valueonly)")
	expect.That(t, strings.Contains(got, `"signed/x\nApproved-by: Eve`), "what it replaces is %q", got)
	r.unchanged(hash)
}

var proposed = commit.Remote{Name: "origin", Branch: "proposed"}

// TestOnBranch: a branch holds a promotion if its commit is the commit of that promotion. Anybody
// with write access to branches could have pushed another one.
func TestOnBranch(t *testing.T) {
	s := newSigstore(t)
	request := asking(exceptionText("a"))
	doc := parse(t, strings.Replace(request, "[Pod]", "[Pod, Deployment]", 1))
	wider := string(must.Get(s.signer.Seal(t.Context(), []*exception.Document{doc}, time.Now()))(t)[0].Source())
	const another = "it is not the commit that this promotion makes"
	for _, tc := range []struct {
		name    string
		edit    func(r *repository)             // content of the branch
		commit  func(c *planted, r *repository) // the commit with that content
		by      func(*commit.Author)
		server  bool // a server makes the commits
		nobody  bool // no trusted signer is configured
		nothing bool // nothing is committed
		want    string
	}{
		{name: "as it was pushed", nothing: true},
		{name: "as it was pushed, at another time"},
		{name: "by another author", commit: func(c *planted, _ *repository) { c.author = "Eve" }, want: another},
		{name: "by another committer", commit: func(c *planted, _ *repository) { c.committer = "Eve" }, want: another},
		{name: "with another message", commit: func(c *planted, _ *repository) { c.message += "Approved-by: Eve <eve@example.com>\n" }, want: another},
		{name: "on another commit", commit: func(c *planted, r *repository) { c.parents = []string{r.Line("rev-parse", "HEAD~2")} }, want: another},
		{name: "with another parent", commit: func(c *planted, r *repository) { c.parents = append(c.parents, r.Line("rev-parse", "HEAD~2")) }, want: another},
		{name: "on a commit that nobody reviewed", commit: func(c *planted, r *repository) {
			between := planted{tree: r.Line("rev-parse", "HEAD~2^{tree}"), author: "Eve", committer: "Eve", message: "x\n", parents: c.parents}
			c.parents = []string{r.plant(between)}
		}, want: another},
		{name: "with a file more", edit: func(r *repository) { r.Write("signed/Kustomization", "x\n") }, want: another},
		{name: "with a file less", edit: func(r *repository) { r.Git("rm", "--quiet", "README.md") }, want: another},
		{name: "unsigned", edit: func(r *repository) { r.Write("signed/a.yaml", request) }, want: "it is not signed"},
		{name: "wider, and signed once", edit: func(r *repository) { r.Write("signed/a.yaml", wider) }, want: "it differs from unsigned/a.yaml"},
		{name: "executable", edit: func(r *repository) { must.Do(r.TB, os.Chmod(r.Path("signed/a.yaml"), 0o755)) }, want: "it is not a regular file"},
		{name: "not there", edit: func(r *repository) { r.Git("rm", "--quiet", "signed/a.yaml") }, want: "it does not exist"},
		{name: "the commit is to be signed", nothing: true, by: func(a *commit.Author) { a.Sign = true }, want: "cannot make a signed commit again"},
		{name: "by a server", server: true, commit: func(c *planted, _ *repository) { c.author, c.committer = "bot", "GitHub" }},
		{name: "by a server, with another message", server: true, commit: func(c *planted, _ *repository) { c.message += "Approved-by: Eve <eve@example.com>\n" }, want: another},
		{name: "by a server, on another commit", server: true, commit: func(c *planted, r *repository) { c.parents = []string{r.Line("rev-parse", "HEAD~2")} }, want: another},
		{name: "by a server, with a file more", server: true, edit: func(r *repository) { r.Write("signed/Kustomization", "x\n") }, want: another},
		{name: "by a server, wider", server: true, edit: func(r *repository) { r.Write("signed/a.yaml", wider) }, want: "it differs from unsigned/a.yaml"},
		{name: "nobody is trusted", nothing: true, nobody: true, want: "no trusted signer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRepository(t, map[string]string{"signed/.gitkeep": ""})
			r.CommitFile("Ask for it", "unsigned/a.yaml", request)
			other := r.remote()
			q := r.open()
			docs, err := s.signer.Seal(t.Context(), q.Documents(), time.Now())
			must.Do(r.TB, err)
			push := toMain
			push.As = proposed.Branch
			if _, there, err := q.OnBranch(t.Context(), deliver.To{Push: push, By: *author()}, s.verifier); there || err != nil {
				t.Fatalf("OnBranch before it was pushed: %v, %v", there, err)
			}
			promoted, err := q.Signed(docs)
			must.Do(r.TB, err)
			_, err = promoted.Make(context.Background(), deliver.To{Way: deliver.Push, By: *author(), Push: push})
			must.Do(r.TB, err)
			if !tc.nothing {
				other.Git("fetch", "--quiet")
				other.Git("checkout", "--quiet", "-b", "proposed", "origin/proposed")
				if tc.edit != nil {
					tc.edit(other)
				}
				other.Git("add", "--all")
				c := planted{tree: other.Line("write-tree"), author: "Polex Bot", committer: "Polex Bot",
					message: other.Git("log", "-1", "--format=%B"), parents: []string{other.Line("rev-parse", "HEAD^")}}
				c.message = strings.TrimSuffix(c.message, "\n")
				if tc.commit != nil {
					tc.commit(&c, other)
				}
				other.Git("push", "--quiet", "--force", "origin", other.plant(c)+":refs/heads/proposed")
			}
			by := *author()
			by.When = time.Now()
			if tc.by != nil {
				tc.by(&by)
			}
			verifier := s.verifier
			if tc.nobody {
				verifier = nil
			}
			if tc.server {
				push.By = struct{ forge.Commits }{}
			}
			_, there, err := q.OnBranch(t.Context(), deliver.To{Push: push, By: by}, verifier)
			switch {
			case tc.want == "" && (err != nil || !there):
				t.Errorf("OnBranch: %v, %v", there, err)
			case tc.want != "" && (there || !errors.Is(err, promotion.ErrBranchTaken) || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("OnBranch: %v, %v; want %q", there, err, tc.want)
			}
		})
	}
}

// planted is a commit of an attacker who chooses all of its fields.
type planted struct {
	tree, author, committer, message string
	parents                          []string
}

// plant writes a commit, and returns its hash. Its email address is the one of Polex Bot.
func (r *repository) plant(c planted) string {
	r.TB.Helper()
	args := []string{"commit-tree", c.tree}
	for _, parent := range c.parents {
		args = append(args, "-p", parent)
	}
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = r.Dir, strings.NewReader(c.message)
	const at = "1767225600 +0000"
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME="+c.author, "GIT_AUTHOR_EMAIL=bot@example.com", "GIT_AUTHOR_DATE="+at,
		"GIT_COMMITTER_NAME="+c.committer, "GIT_COMMITTER_EMAIL=bot@example.com", "GIT_COMMITTER_DATE="+at)
	out, err := cmd.Output()
	must.Do(r.TB, err)
	return strings.TrimSpace(string(out))
}

// TestTarget: the branch of the remote is fetched. The local branch is used only if it contains the remote one.
func TestTarget(t *testing.T) {
	for _, tc := range []struct {
		name          string
		here, there   bool // has a commit of its own
		branch        string
		local, remote string // the expected branch: "here" or "there", "" for an error
	}{
		{name: "the same", branch: "main", local: "here", remote: "there"},
		{name: "the remote has moved", branch: "main", there: true, local: "there", remote: "there"},
		{name: "not pushed yet", branch: "main", here: true, local: "here", remote: "there"},
		{name: "both", branch: "main", here: true, there: true, local: "there", remote: "there"},
		{name: "a branch that the remote does not have", branch: "work", local: "here"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a")})
			other := r.remote()
			if tc.there {
				other.Git("rm", "--quiet", "-r", "unsigned")
				other.pushed("Withdraw it")
			}
			if tc.here {
				r.Commit("Mine")
			}
			commits := map[string]string{"here": r.Head(), "there": other.Head()}
			clone, err := commit.Open(commit.Options{Dir: r.Dir})
			must.Do(r.TB, err)
			defer clone.Close()
			for _, local := range []bool{true, false} {
				want := tc.remote
				if local {
					want = tc.local
				}
				got, err := promotion.Target(t.Context(), clone, commit.Remote{Name: "origin", Branch: tc.branch}, local)
				expect.That(t, (err != nil) == (want == "") && (err != nil || got.String() == commits[want]),
					"Target, local %v: %s, %v; want %q of %v", local, got, err, want, commits)
			}
		})
	}
}

// TestPlanAfterwards: a removed request is not signed. If it was made again, the approvals of the
// first request do not count.
func TestPlanAfterwards(t *testing.T) {
	for _, tc := range []struct {
		name   string
		others func(*repository)
		want   string // the reason for skipping it
	}{
		{"something else", func(r *repository) { r.Write("README.md", "x"); r.pushed("Other") }, ""},
		{"withdrawn", func(r *repository) { r.Git("rm", "--quiet", "unsigned/a.yaml"); r.pushed("Withdraw it") }, promotion.ReasonGoneSince},
		{"signed and withdrawn", func(r *repository) {
			r.Git("mv", "unsigned/a.yaml", "a.yaml")
			r.pushed("Sign it")
			r.Git("rm", "--quiet", "a.yaml")
			r.pushed("Withdraw it")
		}, promotion.ReasonGoneSince},
		{"withdrawn and asked for again", func(r *repository) {
			r.Git("mv", "unsigned/a.yaml", "a.yaml")
			r.pushed("Withdraw it")
			r.Git("mv", "a.yaml", "unsigned/a.yaml")
			r.pushed("Ask for it again")
		}, promotion.ReasonChangedSince},
		{"the configuration changed", func(r *repository) { r.Write(".polex.yaml", "stricter"); r.pushed("Ask for more") }, promotion.ReasonChangedSince},
		{"the configuration is gone", func(r *repository) { r.Git("rm", "--quiet", ".polex.yaml"); r.pushed("Ask for nothing") }, promotion.ReasonChangedSince},
		{"a policy changed", func(r *repository) { r.Write("policies/a.yaml", "new"); r.pushed("Add a policy") }, promotion.ReasonChangedSince},
		{"changed", func(r *repository) { r.Write("unsigned/a.yaml", exceptionText("b")); r.pushed("Change it") }, promotion.ReasonChangedSince},
	} {
		for _, shallow := range []bool{false, true} {
			t.Run(tc.name+map[bool]string{true: ", in a shallow clone"}[shallow], func(t *testing.T) {
				r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a"), "unsigned/.gitkeep": "", ".polex.yaml": "lax"})
				r.Commit("Another one")
				other := r.remote()
				dir := r.Dir
				if shallow {
					dir = filepath.Join(r.Home, "shallow")
					r.Git("clone", "--quiet", "--depth=1", "file://"+r.Line("remote", "get-url", "origin"), dir)
				}
				tc.others(other)
				q, err := r.try(dir, promotion.Options{Rules: []string{".polex.yaml", "policies"}})
				must.Do(r.TB, err)
				tip, err := promotion.Target(t.Context(), r.clone, toMain.To, false)
				must.Do(r.TB, err)
				must.That(t, tip != git.NewHash(r.Head()), "the remote has not moved")
				plan, err := q.Queue.Plan(tip)
				must.Do(r.TB, err)
				switch {
				case tc.want == "" && (len(plan.Moves) != 1 || len(plan.Skipped) != 0):
					t.Errorf("%d moves, and skipped %v", len(plan.Moves), plan.Skipped)
				case tc.want != "" && (len(plan.Moves) != 0 || len(plan.Skipped) != 1 || plan.Skipped[0].Reason != tc.want):
					t.Errorf("%d moves, and skipped %v; want %s", len(plan.Moves), plan.Skipped, tc.want)
				}
			})
		}
	}
}

// TestRulesAreCommitted: the rules of a run are those of HEAD. A configuration that is not in HEAD
// belongs to the caller.
func TestRulesAreCommitted(t *testing.T) {
	for change, want := range map[string]string{"policies/a.yaml": "differs from the commit", "policies/new.yaml": "differs from the commit", ".polex.yaml": "differs from the commit", "own.yaml": "", "other.txt": ""} {
		t.Run(change, func(t *testing.T) {
			r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a"), ".polex.yaml": "strict", "policies/a.yaml": "strict", "other.txt": "a"})
			_, _ = r.Try("update-index", "--assume-unchanged", change) // hides nothing
			r.Write(change, "lax")
			_, err := r.try(r.Dir, promotion.Options{Rules: []string{".polex.yaml", "own.yaml", "policies"}})
			expect.That(t, (err != nil) == (want != "") && (err == nil || strings.Contains(err.Error(), want)),
				"%v, want %q", err, want)
		})
	}
}
