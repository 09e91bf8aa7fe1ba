//go:build e2e

package main_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/story"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestUp starts everything like `make e2e-up`, runs the printed commands, and interrupts it. No
// process and no file is left.
func TestUp(t *testing.T) {
	tmp := must.Get(os.MkdirTemp("", "polex-up-test-"))(t)
	defer os.RemoveAll(tmp)
	// PostgreSQL runs as another user.
	must.Do(t, os.Chmod(tmp, 0o755))
	u := start(t, tmp)
	t.Run("what it says to type works", func(t *testing.T) { u.types(t) })
	started := descendants(t, u.cmd.Process.Pid)
	expect.That(t, len(started) >= 15, "the %d processes that it has started are not all that it needs", len(started))
	must.Do(t, u.interrupt())
	select {
	case err := <-u.ended:
		expect.That(t, err == nil, "it ends with %v", err)
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	for pid, began := range started {
		expect.That(t, began == "" || born(pid) != began, "process %d is left", pid)
	}
	left, err := os.ReadDir(tmp)
	expect.That(t, err == nil && len(left) == 0, "%v is left: %v", left, err)
}

// up is the running program.
type up struct {
	cmd   *exec.Cmd
	said  []string // the output until it is ready
	ended chan error
}

// start builds and starts it, and returns when it is ready.
func start(t *testing.T, tmp string) *up {
	t.Helper()
	root := must.Get(filepath.Abs("../../../.."))(t)
	program := filepath.Join(t.TempDir(), "up")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	must.Run(t, build)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	t.Cleanup(cancel)
	u := &up{cmd: exec.CommandContext(ctx, program), ended: make(chan error, 1)}
	u.cmd.Dir, u.cmd.Env, u.cmd.Stderr = root, append(os.Environ(), "TMPDIR="+tmp), os.Stderr
	// A terminal interrupts all of its processes.
	u.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	u.cmd.Cancel = u.interrupt
	out := must.Get(u.cmd.StdoutPipe())(t)
	must.Do(t, u.cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		t.Log(lines.Text())
		u.said = append(u.said, lines.Text())
		if lines.Text() == story.Last {
			break
		}
	}
	go func() {
		_, _ = io.Copy(os.Stderr, out)
		u.ended <- u.cmd.Wait()
	}()
	if len(u.said) == 0 || u.said[len(u.said)-1] != story.Last {
		t.Fatalf("it did not start: %v", <-u.ended)
	}
	return u
}

// interrupt sends the signal of Ctrl-C.
func (u *up) interrupt() error { return syscall.Kill(-u.cmd.Process.Pid, syscall.SIGINT) }

// types runs the printed commands in a shell.
func (u *up) types(t *testing.T) {
	script, refused := "set -eu\n", 0
	for _, line := range u.said {
		command, typed := strings.CutPrefix(line, "    ")
		if !typed {
			continue
		}
		if command, why, found := strings.Cut(command, " # refused: "); found {
			refused++
			script += fmt.Sprintf("if said=$(%s 2>&1); then echo \"not refused: $said\"; exit 1; fi\necho \"$said\"\ncase $said in *'%s'*) ;; *) echo 'not for: %[2]s'; exit 1 ;; esac\n", command, why)
			continue
		}
		script += command + "\n"
	}
	expect.That(t, refused >= 4, "it says of %d commands that they are refused", refused)
	shell := exec.CommandContext(t.Context(), "bash", "-x")
	shell.Dir, shell.Stdin = t.TempDir(), strings.NewReader(script)
	shell.Env = append(os.Environ(), "HOME="+t.TempDir(),
		"GIT_AUTHOR_NAME=carol", "GIT_AUTHOR_EMAIL=carol@example.com", "GIT_COMMITTER_NAME=carol", "GIT_COMMITTER_EMAIL=carol@example.com")
	out, err := shell.CombinedOutput()
	must.That(t, err == nil, "%v\n%s", err, out)
}

// descendants returns the processes that a process has started, directly or not, with their start times.
func descendants(t *testing.T, of int) map[int]string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Skip("there is no /proc to tell what runs by")
	}
	parents := map[int]int{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if fields := stat(pid); len(fields) > 1 {
			parents[pid], _ = strconv.Atoi(fields[1])
		}
	}
	found := map[int]string{}
	for pid := range parents {
		for above := parents[pid]; above != 0; above = parents[above] {
			if above == of {
				found[pid] = born(pid)
			}
		}
	}
	return found
}

// born returns the start time of a process in the kernel's units, or "" if it does not exist or is a zombie.
func born(pid int) string {
	if fields := stat(pid); len(fields) > 19 && fields[0] != "Z" {
		return fields[19]
	}
	return ""
}

// stat returns the kernel's fields of a process, from its state on.
func stat(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.Fields(rest)
}
