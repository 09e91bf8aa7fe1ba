//go:build unix

package commit_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// endOf returns the whole visible state after a run.
func endOf(r *repository, mode string) string {
	r.TB.Helper()
	r.clean()
	end := r.Git("log", "--format=%H %s %P", "main") + r.Git("ls-files", "--stage") + r.Git("status", "--porcelain", "--untracked-files=all")
	if mode == "push" {
		end += r.Git("ls-remote", "origin")
	}
	return end + strings.Join(files(r), "\n")
}

// files returns the files of the work tree with their content.
func files(r *repository) []string {
	r.TB.Helper()
	var found []string
	names := r.Line("ls-files", "--cached", "--others", "--deduplicate")
	for name := range strings.SplitSeq(names, "\n") {
		content := "(removed)"
		if out, err := r.Try("hash-object", "--", name); err == nil {
			content = strings.TrimSpace(out)
		}
		found = append(found, name+" "+content)
	}
	return found
}

// TestKilledAnywhere: a run is killed before each of its steps, or after the last, and repeated, also
// if the second run is killed too. The result is equal to that of an undisturbed run.
func TestKilledAnywhere(t *testing.T) {
	for mode, steps := range stepsOf {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			origin := originOf(t, mode, waiting)
			alone := origin.copy()
			undisturbed := alone.run(mode)
			must.That(t, undisturbed.Err == "" && undisturbed.Commit != "", "undisturbed: %+v", undisturbed)
			want := endOf(alone, mode)
			for n := range len(steps) + 1 {
				for m := -1; m < 2; m++ {
					if !*long && m == n%2 {
						continue
					}
					r := origin.copy()
					r.TB, r.killed = t, true
					must.That(t, r.runUntil(n, mode) == nil, "it was not killed before step %d", n)
					again := r.runUntil(m, mode)
					if again == nil {
						again = r.run(mode)
					}
					expect.Is(t, fmt.Sprintf("killed at %d and %d", n, m), "", again.Err)
					expect.Equal(t, fmt.Sprintf("killed at %d and %d: the end", n, m), want, endOf(r, mode))
				}
			}
		})
	}
}

// lockCommand is the command in a message about a lock file.
var lockCommand = regexp.MustCompile(`rm "([^"]+\.lock)"`)

// TestKilledWithGit: a run and its Git are killed at any time. Then every file is pending or signed on the branch, and
// what others did is there. The next runs finish it, after the commands that the messages name.
func TestKilledWithGit(t *testing.T) {
	const files = 30
	queue := map[string]string{"notes.txt": "theirs\n"}
	for i := range files {
		queue[fmt.Sprintf("unsigned/%d.yaml", i)] = strings.Repeat(fmt.Sprintf("n: %d\n", i), 200)
	}
	for mode := range stepsOf {
		t.Run(mode, func(t *testing.T) {
			origin := originOf(t, mode, queue)
			begun := time.Now()
			alone := origin.copy()
			alone.succeeds(mode)
			whole := time.Since(begun)
			met := 0
			for run := 0; run < 8 && (*long || run < 3 || met == 0); run++ {
				r := origin.copy()
				r.TB, r.killed = t, true
				r.Write("notes.txt", "mine\n")
				after := time.Duration(rand.Int64N(int64(whole)))
				if killGroup(t, order{Dir: r.Dir, Mode: mode, KillAt: -1}, after) {
					met++
				}
				onBranch(t, r, mode, files)
				finish(t, r, mode, after)
				onBranch(t, r, mode, files)
				expect.Is(t, "git status", " M notes.txt\n", r.Git("status", "--porcelain", "--untracked-files=all"))
				expect.Is(t, fmt.Sprintf("killed after %s: still pending", after), "", r.Line("ls-files", "unsigned"))
				r.Write("notes.txt", "theirs\n")
				r.clean()
			}
			t.Logf("%d were killed within %s", met, whole)
			expect.That(t, met != 0, "no run was killed")
		})
	}
}

// onBranch checks that each file is either pending or signed on the target branch.
func onBranch(t *testing.T, r *repository, mode string, files int) {
	t.Helper()
	at := r
	if mode == "push" {
		at = r.beside("remote.git")
	}
	names := "\n" + at.Git("ls-tree", "-r", "--name-only", "main")
	for i := range files {
		if pending, signed := strings.Contains(names, fmt.Sprintf("\nunsigned/%d.yaml\n", i)), strings.Contains(names, fmt.Sprintf("\nsigned/%d.yaml\n", i)); pending == signed {
			t.Errorf("%d: pending: %v, signed: %v", i, pending, signed)
		}
	}
}

// finish runs it again and removes the lock files that the messages name.
func finish(t *testing.T, r *repository, mode string, after time.Duration) {
	t.Helper()
	for range 5 {
		again := r.run(mode)
		lock := lockCommand.FindStringSubmatch(again.Err + again.Recovered + again.Left)
		if lock == nil {
			expect.That(t, again.Err == "" && again.Left == "",
				"killed after %s, and the next run says %+v", after, again)
			return
		}
		must.Do(r.TB, os.Remove(lock[1]))
	}
	t.Errorf("killed after %s: more than 5 locks", after)
}

// killGroup runs a child and kills it with all its processes after a time. It reports whether it was still running.
func killGroup(t *testing.T, o order, after time.Duration) bool {
	t.Helper()
	cmd := childOf(t, o)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdout = new(bytes.Buffer)
	must.Do(t, cmd.Start())
	timer := time.AfterFunc(after, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer timer.Stop()
	return cmd.Wait() != nil
}

// TestGitIsKilled: Git is killed while it writes files, alone or together with the run. The next run
// writes the rest, although a file is empty.
func TestGitIsKilled(t *testing.T) {
	for name, whom := range map[string]string{"Git": "$PPID", "both": "$PPID $(ps -o ppid= -p $PPID)"} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, waiting)
			r.killed = true
			r.CommitFile("A filter", ".gitattributes", "*.yml filter=deadly\n")
			once := filepath.Join(filepath.Dir(r.Dir), "once")
			r.Git("config", "filter.deadly.smudge", "if test ! -e '"+once+"'; then touch '"+once+"'; kill -9 "+whom+"; fi; cat")
			got := r.run("commit")
			if (got == nil) != (name == "both") || got != nil && !strings.Contains(got.Left, "git restore: signal: killed") {
				t.Fatalf("%+v", got)
			}
			r.Write("signed/a.yaml", "")
			finish(t, r, "commit", 0)
			r.clean()
			expect.That(t, r.Line("log", "-1", "--format=%s") == "Sign 3", "nothing is committed")
		})
	}
}

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
	for _, killed := range []*repository{r, r.link("linked")} {
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
