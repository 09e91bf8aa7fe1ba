//go:build unix

package commit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/gitrepo"
	"github.com/polex-dev/polex/test/must"
)

// childVariable makes the test binary a child process that works in a clone.
const childVariable = "POLEX_TEST_GITCHANGE"

func TestMain(m *testing.M) {
	if given := os.Getenv(childVariable); given != "" {
		os.Exit(child(given))
	}
	os.Exit(m.Run())
}

// order is the task of a child process.
type order struct {
	Dir      string
	Mode     string // commit, push, nothing
	KillAt   int    // the step before which it kills itself; -1 for none
	FileSize uint64 // the maximum size of a file that it writes; 0 for no limit
	Only     string // moves only this file
}

// done is the result of a child process that was not killed.
type done struct {
	Steps                        []string
	Recovered, Commit, Left, Err string
	Outrun, Refused              bool
}

func child(given string) int {
	var o order
	err := json.Unmarshal([]byte(given), &o)
	if err == nil && o.FileSize > 0 {
		signal.Ignore(syscall.SIGXFSZ)
		err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: o.FileSize, Max: o.FileSize})
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(work(o))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// work executes an order.
func work(o order) done {
	var d done
	step := func(name string) error {
		if len(d.Steps) == o.KillAt {
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			select {} // until the signal arrives
		}
		d.Steps = append(d.Steps, name)
		return nil
	}
	result, recovered, err := carry(o, step)
	_ = step("end")
	d.Recovered, d.Left = recovered, result.Left
	if !result.Commit.IsZero() {
		d.Commit = result.Commit.String()
	}
	if err != nil {
		d.Err = err.Error()
	}
	var refused *commit.RefusedError
	d.Outrun, d.Refused = errors.Is(err, commit.ErrOutrun), errors.As(err, &refused)
	return d
}

func carry(o order, step func(string) error) (commit.Result, string, error) {
	c, err := commit.Open(commit.Options{Dir: o.Dir, Step: step})
	if err != nil {
		return commit.Result{}, "", err
	}
	defer c.Close()
	ctx := context.Background()
	var result commit.Result
	switch o.Mode {
	case "commit":
		result, err = c.Commit(ctx, bot, seal(o.Only))
	case "push":
		var to commit.Remote
		if to, err = c.Remote(commit.Remote{}); err == nil {
			result, err = c.Push(ctx, bot, commit.Push{To: to}, seal(o.Only))
		}
	}
	return result, c.Recovered, err
}

// seal proposes to move all pending files, or only one, with an added first line.
func seal(only string) commit.Propose {
	return func(tree *git.Tree) (commit.Change, error) {
		change := commit.Change{Write: map[string][]byte{}}
		if _, err := tree.Find("unsigned"); errors.Is(err, fs.ErrNotExist) {
			return change, nil
		}
		err := tree.Walk("unsigned", func(e git.Entry) error {
			if only != "" && e.Path != only {
				return nil
			}
			content, err := tree.Read(e)
			change.Write["signed"+strings.TrimPrefix(e.Path, "unsigned")] = append([]byte("sealed\n"), content...)
			change.Remove = append(change.Remove, e.Path)
			return err
		})
		change.Message = fmt.Sprintf("Sign %d\n", len(change.Remove))
		return change, err
	}
}

// childOf is the child process of an order.
func childOf(tb testing.TB, o order) *exec.Cmd {
	tb.Helper()
	cmd := exec.Command(must.Get(os.Executable())(tb))
	cmd.Env = append(os.Environ(), childVariable+"="+string(must.Get(json.Marshal(o))(tb)),
		"GIT_CONFIG_NOSYSTEM=1", "HOME="+filepath.Dir(o.Dir))
	return cmd
}

// start runs a child process. It returns nil if the child was killed.
func start(tb testing.TB, o order, environment ...string) *done {
	tb.Helper()
	cmd := childOf(tb, o)
	cmd.Env = append(cmd.Env, environment...)
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return nil
	}
	must.That(tb, err == nil, "%v\n%s", err, problem.String())
	d := &done{}
	must.Do(tb, json.Unmarshal(out.Bytes(), d))
	return d
}

// run runs a child process to its end.
func (r *repository) run(mode string, environment ...string) *done {
	r.TB.Helper()
	return r.runUntil(-1, mode, environment...)
}

// runUntil runs a child process that kills itself before a step: then it returns nil.
func (r *repository) runUntil(step int, mode string, environment ...string) *done {
	r.TB.Helper()
	return start(r.TB, order{Dir: r.Dir, Mode: mode, KillAt: step}, environment...)
}

// succeeds runs a child process that has to end without an error.
func (r *repository) succeeds(mode string) {
	r.TB.Helper()
	got := r.run(mode)
	expect.That(r.TB, got.Err == "", "it ended with %+v", got)
}

var (
	committedAt = time.Date(2026, 3, 1, 10, 30, 15, 0, time.UTC)
	author      = commit.Author{Name: "A", Email: "a@example.com", When: committedAt}
	bot         = commit.Author{Name: "Polex Bot", Email: "bot@example.com", When: committedAt}
)

// repository is a real Git repository.
type repository struct {
	*gitrepo.Repository
	killed bool // a killed run may have left temporary references
}

// repositoryAt is the repository in a folder. Its commits have one time.
func repositoryAt(tb testing.TB, dir string) *repository {
	return &repository{Repository: &gitrepo.Repository{TB: tb, Dir: dir, Home: filepath.Dir(dir),
		Env: []string{"GIT_AUTHOR_DATE=1772360000 +0000", "GIT_COMMITTER_DATE=1772360000 +0000"}}}
}

// waiting is a repository with pending files in different folders, with different sizes and similar names.
var waiting = map[string]string{
	"README.md": "# Exceptions\n", "unsigned/a.yaml": "a: 1\n", "unsigned/team/b.yml": strings.Repeat("b: 2\n", 1000),
	"unsigned/team/deep/c.json": "{}\n", "signed/old.yaml": "old: 1\n", "signed.txt": "x\n",
}

// originOf is a repository for the runs of a mode.
func originOf(t *testing.T, mode string, files map[string]string) *repository {
	t.Helper()
	r := newRepository(t, files)
	if mode == "push" {
		r.bare()
	}
	return r
}

// newRepository creates a repository with one commit of the files.
func newRepository(tb testing.TB, files map[string]string) *repository {
	tb.Helper()
	r := repositoryAt(tb, filepath.Join(tb.TempDir(), "clone"))
	must.Do(tb, os.Mkdir(r.Dir, 0o755))
	r.Init("Ask", files)
	return r
}

// bare creates a bare copy of this repository, and makes it the remote of the main branch.
func (r *repository) bare() *repository {
	r.TB.Helper()
	remote := r.beside("remote.git")
	r.Git("clone", "--quiet", "--template=", "--bare", ".", remote.Dir)
	r.Git("remote", "add", "origin", remote.Dir)
	r.Git("fetch", "--quiet", "origin")
	r.Git("branch", "--quiet", "--set-upstream-to=origin/main")
	return remote
}

// clone creates another clone of a bare repository.
func (r *repository) clone(name string) *repository {
	r.TB.Helper()
	c := r.beside(name)
	r.Git("clone", "--quiet", "--template=", r.Dir, c.Dir)
	return c
}

// open opens the repository until the end of the test.
func (r *repository) open() *commit.Clone {
	r.TB.Helper()
	return r.openWith(commit.Options{})
}

func (r *repository) openWith(options commit.Options) *commit.Clone {
	r.TB.Helper()
	options.Dir = r.Dir
	c := must.Get(commit.Open(options))(r.TB)
	r.TB.Cleanup(func() { _ = c.Close() })
	return c
}

// push moves all pending files on the branch that the clone follows.
func (r *repository) push(ctx context.Context, c *commit.Clone) (commit.Result, error) {
	r.TB.Helper()
	return c.Push(ctx, author, commit.Push{To: must.Get(c.Remote(commit.Remote{}))(r.TB)}, seal(""))
}

// beside is the repository in a folder beside this one.
func (r *repository) beside(name string) *repository {
	return repositoryAt(r.TB, filepath.Join(filepath.Dir(r.Dir), name))
}

// link adds a work tree of a new branch of the same name beside this one.
func (r *repository) link(name string) *repository {
	r.TB.Helper()
	linked := r.beside(name)
	r.Git("worktree", "add", "--quiet", "-b", name, linked.Dir)
	return linked
}

// script writes an executable file.
func (r *repository) script(name, content string) {
	r.TB.Helper()
	r.Write(name, content)
	must.Do(r.TB, os.Chmod(r.Path(name), 0o755))
}

// copy copies the repository and its remote to another place.
func (r *repository) copy() *repository {
	r.TB.Helper()
	to := r.TB.TempDir()
	must.Do(r.TB, exec.Command("cp", "-a", filepath.Dir(r.Dir)+"/.", to).Run())
	c := repositoryAt(r.TB, filepath.Join(to, "clone"))
	if _, err := os.Stat(filepath.Join(to, "remote.git")); err == nil {
		c.Git("remote", "set-url", "origin", filepath.Join(to, "remote.git"))
	}
	return c
}

// clean checks that no attempt has left anything: work tree and index are equal to HEAD, the
// objects are complete, and there are no locks, journals or temporary files.
func (r *repository) clean() {
	r.TB.Helper()
	expect.Is(r.TB, "git status", "", r.Git("status", "--porcelain", "--untracked-files=all", "--ignored"))
	r.Fsck()
	must.Do(r.TB, filepath.WalkDir(r.Dir, func(path string, d fs.DirEntry, err error) error {
		own := strings.Contains(path, "/refs/polex/") || strings.Contains(path, "/refs/worktree/polex/")
		if strings.HasSuffix(d.Name(), ".lock") && (!r.killed || !own) { // the next run that needs it names its lock
			r.TB.Errorf("%s is left", path)
		}
		return err
	}))
	patterns := []string{"for-each-ref", "refs/worktree", "refs/polex"}
	if r.killed {
		patterns = patterns[:2]
	}
	expect.Is(r.TB, "references left", "", r.Git(patterns...))
}
