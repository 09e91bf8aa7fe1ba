//go:build unix

package commit_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
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
			origin := newRepository(t, waiting)
			if mode == "push" {
				origin.bare()
			}
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
			origin := newRepository(t, queue)
			if mode == "push" {
				origin.bare()
			}
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
		at = repositoryAt(t, filepath.Join(filepath.Dir(r.Dir), "remote.git"))
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
