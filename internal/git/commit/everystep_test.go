//go:build unix

package commit_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"encoding/json"

	"github.com/polex-dev/polex/internal/git/commit"
)

var errInjected = errors.New("the disk is on fire")

// TestEveryStepFails: after a failure at any step, the clone is unchanged. If the branch has moved,
// the next run finishes the change. If the remote has the commit, the run succeeds and reports the
// remaining steps.
func TestEveryStepFails(t *testing.T) {
	for _, mode := range []string{"commit", "apply", "push"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			origin := newRepository(t, waiting)
			if mode == "push" {
				origin.bare()
			}
			alone := origin.copy()
			var steps []string
			if _, _, err := carry(order{Dir: alone.dir, Mode: mode}, func(name string) error { steps = append(steps, name); return nil }); err != nil {
				t.Fatal(err)
			}
			if len(steps) < 10 {
				t.Errorf("only %d steps: %q", len(steps), steps)
			}
			before, after := endOf(origin, "apply"), endOf(alone, mode)
			moved, pushed := false, false // true after the step that does this
			for n, step := range steps {
				r := origin.copy()
				r.tb = t
				count := 0
				result, _, err := carry(order{Dir: r.dir, Mode: mode}, func(string) error {
					if count++; count == n+1 {
						return errInjected
					}
					return nil
				})
				if !pushed && (!errors.Is(err, errInjected) || !strings.Contains(err.Error(), step)) {
					t.Errorf("%s failed, and what is said is: %v", step, err)
				}
				if pushed && (err != nil || result.Commit.IsZero() || !strings.Contains(result.Left, errInjected.Error()) || !strings.Contains(result.Left, step)) {
					t.Errorf("%s failed after the push, and what is said is: %v, %q of %s", step, err, result.Left, result.Commit)
				}
				switch {
				case moved && mode != "apply":
					if again := start(t, order{Dir: r.dir, Mode: "nothing", KillAt: -1}); !strings.Contains(again.Recovered, "finished the commit") {
						t.Errorf("%s failed, and the next run says %+v", step, again)
					}
					if got := endOf(r, "commit"); got != stripRemote(after) {
						t.Errorf("%s failed: after the next run, there is\n%s\nwant\n%s", step, got, after)
					}
				case mode == "apply" && step == "remove the journal":
					start(t, order{Dir: r.dir, Mode: "nothing", KillAt: -1})
				default:
					r.clean()
					if got := endOf(r, "apply"); got != before {
						t.Errorf("%s failed: there is\n%s\nand was\n%s", step, got, before)
					}
				}
				moved, pushed = moved || step == "move refs/heads/main", pushed || strings.HasPrefix(step, "push ")
			}
		})
	}
}

// stripRemote removes the remote's part of endOf.
func stripRemote(end string) string {
	var kept []string
	for line := range strings.SplitSeq(end, "\n") {
		if !strings.Contains(line, "\tHEAD") && !strings.Contains(line, "\trefs/heads/") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// TestFullDisk: a limit on the file size imitates a full disk, for objects and for the larger files
// of the work tree.
func TestFullDisk(t *testing.T) {
	noise := make([]byte, 60<<10)
	if _, err := io.ReadFull(rand.Reader, noise); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"an object": hex.EncodeToString(noise), "a file": strings.Repeat("a: 1\n", 20<<10)} {
		for _, mode := range []string{"commit", "apply"} {
			t.Run(name+", "+mode, func(t *testing.T) {
				r := newRepository(t, map[string]string{"unsigned/a.yaml": "a: 1\n", "unsigned/z.yaml": content})
				before := endOf(r, "apply")
				got := start(t, order{Dir: r.dir, Mode: mode, KillAt: -1, FileSize: 40 << 10})
				if !strings.Contains(strings.ToLower(got.Err), "file too large") && !strings.Contains(got.Err, "unable to write file signed/z.yaml") {
					t.Fatalf("it ended with %q", got.Err)
				}
				r.clean()
				if after := endOf(r, "apply"); after != before {
					t.Errorf("there is\n%s\nand was\n%s", after, before)
				}
			})
		}
	}
}

// TestReadOnlyFolder: a folder is read-only for a user without root rights.
func TestReadOnlyFolder(t *testing.T) {
	for _, folder := range []string{".", "signed", ".git", ".git/refs/heads", "unsigned"} {
		t.Run(folder, func(t *testing.T) {
			r := newRepository(t, waiting)
			if folder == ".git" { // so that it is not the lock's own folder that fails
				r.must(os.MkdirAll(r.path(".git/polex"), 0o755))
			}
			nobody := handOver(t, r)
			r.must(os.Chmod(r.path(folder), 0o555))
			got := nobody(order{Dir: r.dir, Mode: "commit", KillAt: -1})
			r.must(os.Chmod(r.path(folder), 0o755))
			if folder == "." {
				if got.Err != "" { // signed/ is there, and nothing is written beside it
					t.Errorf("it ended with %q", got.Err)
				}
				return
			}
			if !strings.Contains(strings.ToLower(got.Err), "permission denied") {
				t.Fatalf("it ended with %q", got.Err)
			}
			if folder == "unsigned" { // the branch had moved by then
				again := nobody(order{Dir: r.dir, Mode: "nothing", KillAt: -1})
				if !strings.Contains(again.Recovered, "finished the commit") {
					t.Errorf("the next run says %+v", again)
				}
			}
			r.git("config", "--global", "safe.directory", "*")
			r.git("status")
			if status := r.git("status", "--porcelain", "--untracked-files=all"); status != "" {
				t.Errorf("git status:\n%s", status)
			}
		})
	}
}

// handOver gives a repository to a user without root rights. It returns a function that starts a
// child as that user.
func handOver(t *testing.T, r *repository) func(order) *done {
	t.Helper()
	if os.Geteuid() != 0 {
		return func(o order) *done { return start(t, o) }
	}
	const nobody = 65534
	top := filepath.Dir(r.dir)
	self, err := os.Executable()
	r.must(err)
	binary := filepath.Join(top, "child")
	content, err := os.ReadFile(self)
	r.must(err)
	r.must(os.WriteFile(binary, content, 0o755))
	for dir := top; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		r.must(os.Chmod(dir, 0o755))
	}
	r.must(filepath.WalkDir(r.dir, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, nobody, nobody))
	}))
	return func(o order) *done {
		given, err := json.Marshal(o)
		r.must(err)
		cmd := exec.Command(binary)
		cmd.Dir = r.dir
		cmd.Env = append(os.Environ(), childVariable+"="+string(given))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.Output()
		r.must(err)
		d := &done{}
		r.must(json.Unmarshal(out, d))
		return d
	}
}

// TestBusy: a second run in the same clone fails immediately.
func TestBusy(t *testing.T) {
	r := newRepository(t, waiting)
	c, err := commit.Open(commit.Options{Dir: r.dir})
	if err != nil {
		t.Fatal(err)
	}
	if got := start(t, order{Dir: r.dir, Mode: "commit", KillAt: -1}); !got.Busy {
		t.Errorf("the second: %+v", got)
	}
	if _, err := commit.Open(commit.Options{Dir: r.dir}); !errors.Is(err, commit.ErrBusy) {
		t.Errorf("in the same process: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if got := start(t, order{Dir: r.dir, Mode: "commit", KillAt: -1}); got.Err != "" {
		t.Errorf("afterwards: %+v", got)
	}
	r.clean()
}

// TestLockedByGit: polex respects and keeps a lock that another Git process holds or has left.
func TestLockedByGit(t *testing.T) {
	for _, name := range []string{"index", "refs/heads/main"} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, waiting)
			before := endOf(r, "apply")
			r.write(".git/"+name+".lock", "theirs")
			got := start(t, order{Dir: r.dir, Mode: "commit", KillAt: -1})
			if !strings.Contains(got.Err, name+".lock") || !strings.Contains(strings.ToLower(got.Err), "another git process") {
				t.Errorf("it ended with %q", got.Err)
			}
			if r.read(".git/"+name+".lock") != "theirs" {
				t.Error("the lock is gone")
			}
			r.must(os.Remove(r.path(".git/" + name + ".lock")))
			r.clean()
			if after := endOf(r, "apply"); after != before {
				t.Errorf("there is\n%s\nand was\n%s", after, before)
			}
		})
	}
}

// TestLeftovers: a run that is killed within a step leaves these files.
func TestLeftovers(t *testing.T) {
	r := newRepository(t, waiting)
	for _, name := range []string{"index", "index.lock", "mine"} {
		r.write(".git/polex/"+name, "half")
	}
	r.must(os.Link(r.path(".git/polex/mine"), r.path(".git/index.lock")))
	blob := strings.TrimSpace(r.git("rev-parse", "HEAD:signed/old.yaml"))
	r.write(".git/objects/"+blob[:2]+"/tmp_obj_polex", "half")
	if got := start(t, order{Dir: r.dir, Mode: "commit", KillAt: -1}); got.Err != "" {
		t.Fatal(got.Err)
	}
	r.must(os.Remove(r.path(".git/objects/" + blob[:2] + "/tmp_obj_polex")))
	r.clean()
}

// TestCancelled: a run with a cancelled context pushes nothing.
func TestCancelled(t *testing.T) {
	r := newRepository(t, waiting)
	remote := r.bare()
	head := remote.head()
	c, err := commit.Open(commit.Options{Dir: r.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	to, err := c.Remote(commit.Remote{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Push(ctx, commit.Author{Name: "A", Email: "a@example.com", When: committedAt}, commit.Push{To: to}, seal("")); !errors.Is(err, context.Canceled) {
		t.Errorf("Push: %v", err)
	}
	if remote.head() != head {
		t.Error("the remote has moved")
	}
	r.clean()
}

// TestHeadMovesUnderway: changes by others during a run are kept, or Git's locks prevent them.
func TestHeadMovesUnderway(t *testing.T) {
	origin := newRepository(t, waiting)
	steps := start(t, order{Dir: origin.copy().dir, Mode: "commit", KillAt: -1}).Steps
	kept, out := 0, 0
	for n, step := range steps[:len(steps)-1] {
		if strings.Contains(step, "team") || n > 0 && step == steps[n-1] {
			continue // same as the previous step
		}
		r := origin.copy()
		r.tb = t
		head, count := r.head(), 0
		var theirs error
		_, _, err := carry(order{Dir: r.dir, Mode: "commit"}, func(string) error {
			if count++; count == n+1 {
				_, theirs = r.try("commit", "--quiet", "--allow-empty", "--message=Theirs")
			}
			return nil
		})
		history := r.git("log", "--format=%s")
		switch {
		case theirs == nil && !strings.Contains(history, "Theirs"):
			t.Errorf("before %s: their commit is lost", step)
		case theirs == nil && errors.Is(err, commit.ErrMoved):
			kept++
			if r.git("rev-parse", "HEAD^") != head+"\n" {
				t.Errorf("before %s: the history is %s", step, history)
			}
		case theirs != nil:
			out++
			if err != nil {
				t.Errorf("before %s: their commit failed, and so did ours: %v", step, err)
			}
		case err != nil:
			t.Errorf("before %s: %v", step, err)
		}
		r.clean()
	}
	if kept < 2 || out < 3 {
		t.Errorf("%d commits of others were kept, and %d kept out", kept, out)
	}
}
