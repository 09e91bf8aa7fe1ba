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
)

// cutOff kills a run before its work tree follows, and returns the commit before it.
func cutOff(t *testing.T, r *repository) string {
	t.Helper()
	before := r.head()
	if start(t, order{Dir: r.dir, Mode: "commit", KillAt: slices.Index(stepsOf["commit"], "restore the files")}) != nil {
		t.Fatal("it was not killed")
	}
	if r.head() == before {
		t.Fatal("the branch has not moved")
	}
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
		"another branch":             {func(r *repository, _ string) { r.git("checkout", "--quiet", "-b", "topic") }, true},
		"a change elsewhere":         {func(r *repository, _ string) { r.write("README.md", "mine\n") }, true},
		"a staged one":               {func(r *repository, _ string) { r.write("new.txt", "mine\n"); r.git("add", "new.txt") }, true},
		"a missing file":             {func(r *repository, _ string) { r.must(os.Remove(r.path("unsigned/a.yaml"))) }, true},
		"an empty file, of Git":      {func(r *repository, _ string) { r.write("signed/a.yaml", "") }, true},
		"the whole change, by hand":  {func(r *repository, _ string) { r.git("reset", "--quiet", "--hard") }, true},
		"reset to the commit before": {func(r *repository, before string) { r.git("reset", "--quiet", "--hard", before) }, false},
		"a commit on top": {func(r *repository, _ string) {
			r.git("reset", "--quiet", "--hard")
			r.write("x", "")
			r.commit("Later")
		}, false},
		"a commit of the old index too": {func(r *repository, _ string) { r.git("commit", "--quiet", "--message=Later") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, waiting)
			tc.goOn(r, cutOff(t, r))
			head, status := r.head(), r.git("status", "--porcelain", "--untracked-files=all")
			got := r.run("nothing")
			if got.Err != "" || strings.HasPrefix(got.Recovered, "updated the work tree to the commit "+head) != tc.follows {
				t.Errorf("the next run says %+v", got)
			}
			expect.Is(t, "HEAD", head, r.head())
			after := r.git("status", "--porcelain", "--untracked-files=all")
			if !tc.follows && after != status || tc.follows && strings.Contains(after, "signed") {
				t.Errorf("git status was\n%s\nand is\n%s", status, after)
			}
			expect.Is(t, "left", "", r.git("for-each-ref", "refs/worktree"))
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
			"on disk":   func(r *repository) { r.write(name, "mine\n") },
			"cut short": func(r *repository) { r.write(name, "seal") },
			"staged":    func(r *repository) { r.write(name, "mine\n"); r.git("add", name); r.must(os.Remove(r.path(name))) },
			"a folder":  func(r *repository) { r.must(os.RemoveAll(r.path(name))); r.must(os.MkdirAll(r.path(name), 0o755)) },
			"a link": func(r *repository) {
				r.must(os.RemoveAll(r.path(name)))
				r.must(os.Symlink("../README.md", r.path(name)))
			},
			"hidden": func(r *repository) { r.write(name, "mine\n"); _, _ = r.try("update-index", "--assume-unchanged", name) },
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				r := newRepository(t, waiting)
				cutOff(t, r)
				change(r)
				head, status := r.head(), r.git("status", "--porcelain", "--untracked-files=all")
				got := r.run("commit")
				if got.Err != "" || got.Commit != "" || !strings.Contains(got.Recovered, name) || !strings.Contains(got.Recovered, "git restore --source=HEAD --staged --worktree") {
					t.Errorf("the next run says %+v", got)
				}
				if after := r.git("status", "--porcelain", "--untracked-files=all"); after != status || r.head() != head {
					t.Errorf("git status was\n%s\nand is\n%s", status, after)
				}
				if how == "a folder" {
					r.must(os.Remove(r.path(name)))
				}
				r.git("restore", "--source=HEAD", "--staged", "--worktree", name)
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
	linked := &repository{tb: t, dir: filepath.Join(filepath.Dir(r.dir), "linked")}
	r.git("worktree", "add", "--quiet", "-b", "linked", linked.dir)
	for _, killed := range []*repository{r, linked} {
		cutOff(t, killed)
		r.git("reflog", "expire", "--expire=now", "--all")
		r.git("gc", "--quiet", "--prune=now")
		if got := killed.run("nothing"); got.Err != "" || !strings.HasPrefix(got.Recovered, "updated the work tree") {
			t.Errorf("%+v", got)
		}
		killed.clean()
	}
}

// TestForeignReferences: references that no run has written move no branch and overwrite nothing of
// the user, also if a remote had them and the clone fetches every reference.
func TestForeignReferences(t *testing.T) {
	r := newRepository(t, waiting)
	first := r.head()
	r.write("README.md", "older\n")
	second := r.commit("Second")
	r.write("planted.txt", "x")
	planted := r.commit("Planted")
	r.git("reset", "--quiet", "--hard", second)
	blob := r.line("rev-parse", "HEAD:README.md")
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
			clone.tb = t
			for i, reference := range []string{"from", "to"} {
				if references[i] != "" {
					clone.write(".git/refs/worktree/polex/"+reference, references[i]+"\n")
				}
			}
			clone.write("README.md", "mine\n")
			got := clone.run("nothing")
			if got.Err != "" || clone.head() != second || clone.read("README.md") != "mine\n" {
				t.Errorf("%+v, and HEAD is %s", got, clone.head())
			}
			expect.Is(t, "git status", " M README.md\n", clone.git("status", "--porcelain"))
		})
	}
	remote := r.bare()
	for _, name := range []string{"refs/worktree/polex/from", "refs/worktree/polex/to"} {
		remote.git("update-ref", name, planted)
	}
	r.git("fetch", "--quiet", "--update-head-ok", remote.dir, "+refs/*:refs/*")
	if got := r.run("nothing"); got.Err != "" || r.head() != second {
		t.Errorf("main is %s, %+v", r.head(), got)
	}
	r.clean()
}

// TestOldReferences: a run that is killed during a push leaves a reference. A run of an hour later
// deletes it, and not one of a run that may be at work.
func TestOldReferences(t *testing.T) {
	r := newRepository(t, waiting)
	r.bare()
	r.script(".git/hooks/pre-push", "#!/bin/sh\nkill -9 $PPID $(ps -o ppid= -p $PPID)\n")
	if got := r.run("push"); got != nil {
		t.Fatalf("it was not killed: %+v", got)
	}
	r.must(os.RemoveAll(r.path(".git/hooks")))
	young := r.line("for-each-ref", "--format=%(refname)", "refs/polex")
	if strings.Count(young, "refs/") != 1 {
		t.Fatalf("it left %q", young)
	}
	others := []string{young, "refs/polex/other", fmt.Sprintf("refs/polex/%d-B/main", time.Now().Add(-50*time.Minute).Unix())}
	for _, name := range append([]string{fmt.Sprintf("refs/polex/%d-A/main", time.Now().Add(-61*time.Minute).Unix()), "refs/polex/1-A/new"}, others[1:]...) {
		r.git("update-ref", name, "HEAD")
	}
	r.succeeds("nothing")
	slices.Sort(others)
	if left := strings.Fields(r.git("for-each-ref", "--format=%(refname)", "refs/polex")); !slices.Equal(left, others) {
		t.Errorf("left: %q", left)
	}
}
