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
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/test/expect"
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
	Attempts int
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
	if err == nil {
		err = limit(o)
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
			result, err = c.Push(ctx, bot, commit.Push{To: to, Attempts: o.Attempts}, seal(o.Only))
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
