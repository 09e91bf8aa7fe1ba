//go:build unix

package commit_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

var errInjected = errors.New("the disk is on fire")

// stepsOf are the steps of an undisturbed run.
var stepsOf = map[string][]string{
	"commit": {"write the commit", "move refs/heads/main", "restore the files", "end the update of the work tree"},
	"push": {"fetch origin/main", "write the commit", "push to origin/main",
		"move refs/heads/main", "restore the files", "end the update of the work tree"},
}

// TestEveryStepFails: a failure before the branch moves changes nothing. After that, the run
// succeeds and reports the remaining steps, and the next run finishes them.
func TestEveryStepFails(t *testing.T) {
	for mode, steps := range stepsOf {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			origin := originOf(t, mode, waiting)
			alone := origin.copy()
			if got := alone.run(mode); got.Err != "" || !slices.Equal(got.Steps, append(slices.Clone(steps), "end")) {
				t.Fatalf("undisturbed: %+v", got)
			}
			before, after := endOf(origin, "commit"), endOf(alone, mode)
			done, moved := false, false // the steps that decide
			for _, step := range steps {
				r := origin.copy()
				r.TB = t
				result, _, err := carry(order{Dir: r.Dir, Mode: mode}, func(name string) error {
					if name == step {
						return errInjected
					}
					return nil
				})
				switch {
				case !done && (!errors.Is(err, errInjected) || !strings.Contains(err.Error(), step)):
					t.Errorf("%s failed, and the error is %v", step, err)
				case done && (err != nil || result.Commit.IsZero() || !strings.Contains(result.Left, errInjected.Error()) || !strings.Contains(result.Left, step)):
					t.Errorf("%s failed after the commit, and the result is %v, %q of %s", step, err, result.Left, result.Commit)
				}
				if !moved {
					r.clean()
					expect.Equal(t, fmt.Sprintf("%s failed", step), before, endOf(r, "commit"))
				} else if again := r.run(mode); !strings.HasPrefix(again.Recovered, "updated the work tree") || again.Err != "" {
					t.Errorf("%s failed, and the next run says %+v", step, again)
				} else if got := endOf(r, mode); got != after {
					t.Errorf("%s failed: after the next run, there is\n%s\nwant\n%s", step, got, after)
				}
				moved = moved || strings.HasPrefix(step, "move ")
				done = moved || done || strings.HasPrefix(step, "push ")
			}
		})
	}
}

// TestFullDisk: a limit on the file size imitates a full disk, for objects and for the larger files of the work tree.
func TestFullDisk(t *testing.T) {
	noise := make([]byte, 60<<10)
	must.Get(io.ReadFull(rand.Reader, noise))(t)
	for name, content := range map[string]string{"an object": hex.EncodeToString(noise), "a file": strings.Repeat("a: 1\n", 20<<10)} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, map[string]string{"unsigned/a.yaml": "a: 1\n", "unsigned/z.yaml": content})
			before := endOf(r, "commit")
			got := start(t, order{Dir: r.Dir, Mode: "commit", KillAt: -1, FileSize: 40 << 10})
			if name == "an object" {
				if !strings.Contains(strings.ToLower(got.Err), "file too large") || endOf(r, "commit") != before {
					t.Errorf("it ended with %+v", got)
				}
				return
			}
			must.That(t, got.Err == "" && strings.Contains(got.Left, "unable to write file signed/z.yaml"),
				"it ended with %+v", got)
			next := r.run("nothing")
			expect.Contains(t, next.Recovered, "git restore")
			r.Git("restore", "--source=HEAD", "--staged", "--worktree", "signed/z.yaml")
			r.run("nothing")
			r.clean()
		})
	}
}

// TestReadOnlyFolder: a folder is read-only for a user without root rights.
func TestReadOnlyFolder(t *testing.T) {
	for _, folder := range []string{".", "signed", ".git", ".git/refs/heads", "unsigned"} {
		t.Run(folder, func(t *testing.T) {
			r := newRepository(t, waiting)
			before := r.Head()
			nobody := handOver(t, r)
			must.Do(r.TB, os.Chmod(r.Path(folder), 0o555))
			got := nobody(order{Dir: r.Dir, Mode: "commit", KillAt: -1})
			must.Do(r.TB, os.Chmod(r.Path(folder), 0o755))
			r.Git("config", "--global", "safe.directory", "*")
			denied := strings.Contains(strings.ToLower(got.Err+got.Left), "permission denied")
			if folder == "." { // signed/ exists, and nothing is written beside it
				denied = got.Err == ""
			}
			moved := r.Head() != before
			expect.That(t, denied && moved == (got.Err == ""), "it ended with %+v, and HEAD moved: %v", got, moved)
			if got := nobody(order{Dir: r.Dir, Mode: "commit", KillAt: -1}); got.Err != "" {
				t.Errorf("the next run says %+v", got)
			}
			expect.Is(t, "git status", "", r.Git("status", "--porcelain", "--untracked-files=all"))
		})
	}
}

// handOver gives a repository to a user without root rights. It returns a function that starts a child as that user.
func handOver(t *testing.T, r *repository) func(order) *done {
	t.Helper()
	if os.Geteuid() != 0 {
		return func(o order) *done { return start(t, o) }
	}
	const nobody = 65534
	top := filepath.Dir(r.Dir)
	binary := filepath.Join(top, "child")
	content := must.Get(os.ReadFile(must.Get(os.Executable())(t)))(t)
	must.Do(t, os.WriteFile(binary, content, 0o755))
	for dir := top; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		must.Do(r.TB, os.Chmod(dir, 0o755))
	}
	must.Do(r.TB, filepath.WalkDir(r.Dir, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, nobody, nobody))
	}))
	return func(o order) *done {
		cmd := exec.Command(binary)
		cmd.Dir = r.Dir
		cmd.Env = append(os.Environ(), childVariable+"="+string(must.Get(json.Marshal(o))(t)))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		d := &done{}
		must.Do(t, json.Unmarshal([]byte(must.Output(t, cmd)), d))
		return d
	}
}

// TestLockedByGit: a lock that another Git process holds or has left stays. The message names it and
// the command. The commit is made unless the lock is that of its branch.
func TestLockedByGit(t *testing.T) {
	for name, moves := range map[string]bool{"index": true, "refs/heads/main": false, "HEAD": false, "packed-refs": true} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, waiting)
			before := endOf(r, "commit")
			lock := r.Path(".git/" + name + ".lock")
			must.Do(r.TB, os.WriteFile(lock, []byte("theirs"), 0o644))
			got := r.run("commit")
			if !strings.Contains(got.Err+got.Left, "if no Git runs there, rm \""+lock+"\"") || moves != (got.Err == "") {
				t.Errorf("it ended with %+v", got)
			}
			expect.That(t, r.Read(".git/"+name+".lock") == "theirs", "the lock is gone")
			if next := r.run("nothing"); next.Err != "" || strings.Contains(next.Recovered, lock) != moves {
				t.Errorf("the next run says %+v", next)
			}
			must.Do(r.TB, os.Remove(lock))
			r.succeeds("nothing")
			r.clean()
			after := endOf(r, "commit")
			expect.That(t, moves || after == before, "there is\n%s\nand was\n%s", after, before)
		})
	}
}

// TestCancelled: a run with a cancelled context pushes nothing.
func TestCancelled(t *testing.T) {
	r := newRepository(t, waiting)
	remote := r.bare()
	head := remote.Head()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.push(ctx, r.open())
	expect.Cause(t, err, context.Canceled)
	expect.That(t, remote.Head() == head, "the remote has moved")
	r.clean()
}

// TestHeadMovesUnderway: a commit that somebody makes before any step of a run is never lost. polex
// makes its commit on top of it.
func TestHeadMovesUnderway(t *testing.T) {
	origin := newRepository(t, waiting)
	for n, step := range stepsOf["commit"] {
		r := origin.copy()
		r.TB = t
		count := 0
		var theirs error
		result, _, err := carry(order{Dir: r.Dir, Mode: "commit"}, func(string) error {
			if count++; count == n+1 {
				_, theirs = r.Try("commit", "--quiet", "--allow-empty", "--message=Theirs", "--only")
			}
			return nil
		})
		history := r.Git("log", "--format=%s")
		if theirs != nil || err != nil || !strings.Contains(history, "Theirs") || !strings.Contains(history, "Sign 3") {
			t.Errorf("before %s: %v, %v, the history is\n%s", step, theirs, err, history)
		}
		if _, err := r.Try("merge-base", "--is-ancestor", result.Commit.String(), "HEAD"); err != nil {
			t.Errorf("before %s: %s is lost", step, result.Commit)
		}
		r.clean()
	}
}

// TestBranchSwitched: somebody switches branches during a run. The commit is for the first one.
func TestBranchSwitched(t *testing.T) {
	r := newRepository(t, waiting)
	head := r.Head()
	_, _, err := carry(order{Dir: r.Dir, Mode: "commit"}, func(name string) error {
		if name == "move refs/heads/main" {
			r.Git("commit", "--quiet", "--allow-empty", "--message=Theirs")
			r.Git("checkout", "--quiet", "-b", "topic", head)
		}
		return nil
	})
	if !errors.Is(err, commit.ErrMoved) || r.Head() != head || r.Line("log", "-1", "--format=%s", "main") != "Theirs" {
		t.Errorf("%v, and topic is at %s", err, r.Head())
	}
	r.clean()
}

// TestOrigins: the origin of a file is the first-parent commit that gave it its content. For a
// merged change, this is the merge.
func TestOrigins(t *testing.T) {
	r := newRepository(t, map[string]string{"unsigned/first.yaml": "1\n", "unsigned/again.yaml": "1\n", "a": "x"})
	want := map[string]string{"unsigned/first.yaml": r.Head()}
	r.Git("checkout", "--quiet", "-b", "topic")
	r.CommitFile("On a branch", "unsigned/merged.yaml", "1\n")
	r.Git("checkout", "--quiet", "main")
	r.CommitFile("Add", "unsigned/changed.yaml", "1\n")
	r.Git("merge", "--quiet", "--no-ff", "--message=Merge it", "topic")
	want["unsigned/merged.yaml"] = r.Head()
	r.Write("unsigned/changed.yaml", "2\n")
	r.Git("rm", "--quiet", "unsigned/again.yaml")
	want["unsigned/changed.yaml"] = r.Commit("Change one, withdraw another")
	r.Write("unsigned/again.yaml", "1\n")
	want["unsigned/again.yaml"] = r.Commit("Ask again")
	r.Git("mv", "a", "b")
	r.Write("a/in.yaml", "1\n") // a file became a folder
	want["a/in.yaml"] = r.Commit("Something else")
	r.Commit("Nothing at all")

	names := slices.Collect(maps.Keys(want))
	check := func(r *repository, want map[string]string) {
		t.Helper()
		got := map[string]string{}
		for name, origin := range must.Get(r.open().Origins(git.NewHash(r.Head()), names))(t) {
			got[name] = origin.Commit.String()
			expect.Is(t, "author of "+name, "Ann <ann@example.com>", origin.Author)
		}
		expect.Equal(t, "origins", want, got)
	}
	check(r, want)

	// A shallow clone has no origins that are older than its history.
	shallow := r.beside("shallow")
	r.Git("clone", "--quiet", "--depth=3", "file://"+r.Dir, shallow.Dir)
	check(shallow, map[string]string{"a/in.yaml": want["a/in.yaml"]})
	// With one more commit, it has.
	shallow.Git("fetch", "--quiet", "--deepen=1")
	check(shallow, map[string]string{"a/in.yaml": want["a/in.yaml"], "unsigned/again.yaml": want["unsigned/again.yaml"]})
}

// TestLinkedWorkTree: a killed run is recovered in its own work tree, not in another one.
func TestLinkedWorkTree(t *testing.T) {
	for n := 0; ; n++ {
		r := newRepository(t, waiting)
		r.Git("pack-refs", "--all")
		linked := r.link("sign/here")
		if linked.runUntil(n, "commit") != nil {
			expect.That(t, n > len(stepsOf["commit"]), "only %d steps", n)
			return
		}
		got := r.run("nothing")
		expect.That(t, got.Recovered == "" && got.Err == "", "killed at %d: the other work tree says %+v", n, got)
		linked.succeeds("commit")
		linked.killed, r.killed = true, true
		linked.clean()
		r.clean()
		expect.Is(t, fmt.Sprintf("killed at %d: the branch", n),
			"Sign 3", r.Line("log", "--format=%s", "main..sign/here"))
	}
}

// TestChangesRefused: invalid paths.
func TestChangesRefused(t *testing.T) {
	r := newRepository(t, waiting)
	must.Do(r.TB, os.Symlink("README.md", r.Path("link")))
	head := r.Commit("Link")
	c := r.open()
	for name, change := range map[string]commit.Change{
		"outside":           {Write: map[string][]byte{"../x": nil}},
		"absolute":          {Write: map[string][]byte{"/x": nil}},
		"the root":          {Write: map[string][]byte{".": nil}},
		"Git's own":         {Write: map[string][]byte{".git/config": nil}},
		"by another name":   {Write: map[string][]byte{"sub/.GIT/config": nil}},
		"by a short name":   {Write: map[string][]byte{"GIT~1/config": nil}},
		"a link":            {Write: map[string][]byte{"link": nil}},
		"a folder":          {Write: map[string][]byte{"signed": nil}},
		"below a file":      {Write: map[string][]byte{"README.md/x": nil}},
		"too long":          {Write: map[string][]byte{strings.Repeat("a/", 600) + "x": nil}},
		"what is not there": {Remove: []string{"nowhere"}},
		"a whole folder":    {Remove: []string{"signed"}},
		"both":              {Write: map[string][]byte{"README.md": nil}, Remove: []string{"README.md"}},
	} {
		propose := proposing(change)
		t.Run(name, func(t *testing.T) {
			got, err := c.Commit(t.Context(), author, propose)
			expect.Error(t, err)
			expect.Is(t, "commit", git.ZeroHash, got.Commit)
			_, err = c.Apply(propose)
			expect.Error(t, err)
		})
	}
	nothing := must.Get(c.Commit(t.Context(), author, writing("README.md", "# Exceptions\n")))(t)
	expect.Is(t, "a commit of nothing new", git.ZeroHash, nothing.Commit)
	expect.Is(t, "HEAD", head, r.Head())
	_ = c.Close()
	r.clean()
}

func proposing(change commit.Change) commit.Propose {
	return func(*git.Tree) (commit.Change, error) { return change, nil }
}

// writing proposes one file.
func writing(name, content string) commit.Propose {
	return proposing(commit.Change{Write: map[string][]byte{name: []byte(content)}, Message: "Write\n"})
}

// TestWriteExecutable: a written file is regular, even if it replaces an executable one. Such files
// can therefore be pruned in part.
func TestWriteExecutable(t *testing.T) {
	r := newRepository(t, waiting)
	r.Git("update-index", "--chmod=+x", "unsigned/a.yaml")
	r.Git("commit", "--quiet", "--message", "Make it executable")
	r.Git("checkout", "--", ".")
	must.Get(r.open().Commit(t.Context(), author, writing("unsigned/a.yaml", "b")))(t)
	got := r.Line("ls-tree", "HEAD", "unsigned/a.yaml")
	expect.That(t, strings.HasPrefix(got, "100644 "), "it is %s", got)
	r.clean()
}
