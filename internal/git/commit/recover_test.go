package commit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// cutOff kills a run before its work tree follows, and returns the commit before it.
func cutOff(t *testing.T, r *repository) string {
	t.Helper()
	before := r.Head()
	if start(t, order{Dir: r.Dir, Mode: "commit", KillAt: slices.Index(stepsOf["commit"], "restore the files")}) != nil {
		t.Fatal("it was not killed")
	}
	must.That(t, r.Head() != before, "the branch has not moved")
	return before
}

// TestRecoverElsewhere: a user goes on after a run was killed. The next run touches the work tree
// only if it is still at the commit of that run.
func TestRecoverElsewhere(t *testing.T) {
	for name, tc := range map[string]struct {
		goOn    func(r *repository, before string)
		follows bool
	}{
		"nothing":                    {func(*repository, string) {}, true},
		"another branch":             {func(r *repository, _ string) { r.Git("checkout", "--quiet", "-b", "topic") }, true},
		"a change elsewhere":         {func(r *repository, _ string) { r.Write("README.md", "mine\n") }, true},
		"a staged one":               {func(r *repository, _ string) { r.Write("new.txt", "mine\n"); r.Git("add", "new.txt") }, true},
		"a missing file":             {func(r *repository, _ string) { must.Do(r.TB, os.Remove(r.Path("unsigned/a.yaml"))) }, true},
		"an empty file, of Git":      {func(r *repository, _ string) { r.Write("signed/a.yaml", "") }, true},
		"the whole change, by hand":  {func(r *repository, _ string) { r.Git("reset", "--quiet", "--hard") }, true},
		"reset to the commit before": {func(r *repository, before string) { r.Git("reset", "--quiet", "--hard", before) }, false},
		"a commit on top": {func(r *repository, _ string) {
			r.Git("reset", "--quiet", "--hard")
			r.CommitFile("Later", "x", "")
		}, false},
		"a commit of the old index too": {func(r *repository, _ string) { r.Git("commit", "--quiet", "--message=Later") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, waiting)
			tc.goOn(r, cutOff(t, r))
			head, status := r.Head(), r.Git("status", "--porcelain", "--untracked-files=all")
			got := r.run("nothing")
			if got.Err != "" || strings.HasPrefix(got.Recovered, "updated the work tree to the commit "+head) != tc.follows {
				t.Errorf("the next run says %+v", got)
			}
			expect.Is(t, "HEAD", head, r.Head())
			after := r.Git("status", "--porcelain", "--untracked-files=all")
			if !tc.follows && after != status || tc.follows && strings.Contains(after, "signed") {
				t.Errorf("git status was\n%s\nand is\n%s", status, after)
			}
			expect.Is(t, "left", "", r.Git("for-each-ref", "refs/worktree"))
			if got := r.run("commit"); got.Err != "" || got.Recovered != "" {
				t.Errorf("the run after it says %+v", got)
			}
		})
	}
}

// TestRecoverLeavesOthers: a file with neither the old nor the new content belongs to a user and
// stays. The run goes on. Its message has the command, and after that the next run continues.
func TestRecoverLeavesOthers(t *testing.T) {
	for _, name := range []string{"signed/a.yaml", "unsigned/team/b.yml"} {
		for how, change := range map[string]func(*repository){
			"on disk":   func(r *repository) { r.Write(name, "mine\n") },
			"cut short": func(r *repository) { r.Write(name, "seal") },
			"staged": func(r *repository) {
				r.Write(name, "mine\n")
				r.Git("add", name)
				must.Do(r.TB, os.Remove(r.Path(name)))
			},
			"a folder": func(r *repository) {
				must.Do(r.TB, os.RemoveAll(r.Path(name)))
				must.Do(r.TB, os.MkdirAll(r.Path(name), 0o755))
			},
			"a link": func(r *repository) {
				must.Do(r.TB, os.RemoveAll(r.Path(name)))
				must.Do(r.TB, os.Symlink("../README.md", r.Path(name)))
			},
			"hidden": func(r *repository) { r.Write(name, "mine\n"); _, _ = r.Try("update-index", "--assume-unchanged", name) },
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				r := newRepository(t, waiting)
				cutOff(t, r)
				change(r)
				head, status := r.Head(), r.Git("status", "--porcelain", "--untracked-files=all")
				got := r.run("commit")
				if got.Err != "" || got.Commit != "" || !strings.Contains(got.Recovered, name) || !strings.Contains(got.Recovered, "git restore --source=HEAD --staged --worktree") {
					t.Errorf("the next run says %+v", got)
				}
				after := r.Git("status", "--porcelain", "--untracked-files=all")
				expect.That(t, after == status && r.Head() == head, "git status was\n%s\nand is\n%s", status, after)
				if how == "a folder" {
					must.Do(r.TB, os.Remove(r.Path(name)))
				}
				r.Git("restore", "--source=HEAD", "--staged", "--worktree", name)
				if got := r.run("nothing"); !strings.HasPrefix(got.Recovered, "updated the work tree") {
					t.Errorf("after the command, the next run says %+v", got)
				}
				r.clean()
			})
		}
	}
}

// TestCollected: git gc keeps the objects of a killed run, also in another work tree.
func TestCollected(t *testing.T) {
	r := newRepository(t, waiting)
	linked := repositoryAt(t, filepath.Join(filepath.Dir(r.Dir), "linked"))
	r.Git("worktree", "add", "--quiet", "-b", "linked", linked.Dir)
	for _, killed := range []*repository{r, linked} {
		cutOff(t, killed)
		r.Git("reflog", "expire", "--expire=now", "--all")
		r.Git("gc", "--quiet", "--prune=now")
		got := killed.run("nothing")
		expect.That(t, got.Err == "" && strings.HasPrefix(got.Recovered, "updated the work tree"), "%+v", got)
		killed.clean()
	}
}

// TestForeignReferences: references that no run has written move no branch and overwrite nothing of
// the user, also if a remote had them and the clone fetches every reference.
func TestForeignReferences(t *testing.T) {
	r := newRepository(t, waiting)
	first := r.Head()
	second := r.CommitFile("Second", "README.md", "older\n")
	planted := r.CommitFile("Planted", "planted.txt", "x")
	r.Git("reset", "--quiet", "--hard", second)
	blob := r.Line("rev-parse", "HEAD:README.md")
	lost := strings.Repeat("12", 20)
	for name, references := range map[string][2]string{
		"only from":       {first, ""},
		"only to":         {"", second},
		"of another head": {first, planted},
		"backwards":       {planted, second},
		"forwards":        {first, second},
		"not a commit":    {blob, second},
		"lost":            {lost, second},
		"both lost":       {lost, lost},
	} {
		t.Run(name, func(t *testing.T) {
			clone := r.copy()
			clone.TB = t
			for i, reference := range []string{"from", "to"} {
				if references[i] != "" {
					clone.Write(".git/refs/worktree/polex/"+reference, references[i]+"\n")
				}
			}
			clone.Write("README.md", "mine\n")
			got := clone.run("nothing")
			if got.Err != "" || clone.Head() != second || clone.Read("README.md") != "mine\n" {
				t.Errorf("%+v, and HEAD is %s", got, clone.Head())
			}
			expect.Is(t, "git status", " M README.md\n", clone.Git("status", "--porcelain"))
		})
	}
	remote := r.bare()
	for _, name := range []string{"refs/worktree/polex/from", "refs/worktree/polex/to"} {
		remote.Git("update-ref", name, planted)
	}
	r.Git("fetch", "--quiet", "--update-head-ok", remote.Dir, "+refs/*:refs/*")
	if got := r.run("nothing"); got.Err != "" || r.Head() != second {
		t.Errorf("main is %s, %+v", r.Head(), got)
	}
	r.clean()
}

// TestOldReferences: a run that is killed during a push leaves a reference. A run of an hour later
// deletes it, and not one of a run that may be at work.
func TestOldReferences(t *testing.T) {
	r := newRepository(t, waiting)
	r.bare()
	r.script(".git/hooks/pre-push", "#!/bin/sh\nkill -9 $PPID $(ps -o ppid= -p $PPID)\n")
	got := r.run("push")
	must.That(t, got == nil, "it was not killed: %+v", got)
	must.Do(r.TB, os.RemoveAll(r.Path(".git/hooks")))
	young := r.Line("for-each-ref", "--format=%(refname)", "refs/polex")
	must.That(t, strings.Count(young, "refs/") == 1, "it left %q", young)
	others := []string{young, "refs/polex/other", fmt.Sprintf("refs/polex/%d-B/main", time.Now().Add(-50*time.Minute).Unix())}
	for _, name := range append([]string{fmt.Sprintf("refs/polex/%d-A/main", time.Now().Add(-61*time.Minute).Unix()), "refs/polex/1-A/new"}, others[1:]...) {
		r.Git("update-ref", name, "HEAD")
	}
	r.succeeds("nothing")
	slices.Sort(others)
	left := strings.Fields(r.Git("for-each-ref", "--format=%(refname)", "refs/polex"))
	expect.That(t, slices.Equal(left, others), "left: %q", left)
}
