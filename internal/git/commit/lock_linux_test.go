package commit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/polex-dev/polex/internal/git/commit"
)

// TestCloseFreesTheLock: also while a new child process still has the lock file open.
func TestCloseFreesTheLock(t *testing.T) {
	r := newRepository(t, waiting)
	c, err := commit.Open(commit.Options{Dir: r.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited(t, filepath.Join(r.dir, ".git", "polex", "lock")))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := commit.Open(commit.Options{Dir: r.dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// TestSigningProgramHasNoLock: otherwise, a daemon of the signing program would keep the lock after
// the run is killed.
func TestSigningProgramHasNoLock(t *testing.T) {
	r := newRepository(t, waiting)
	program, opened := filepath.Join(filepath.Dir(r.dir), "sign"), filepath.Join(filepath.Dir(r.dir), "opened")
	r.must(os.WriteFile(program, []byte(`#!/bin/sh
cat >/dev/null
readlink /proc/$$/fd/* >'`+opened+`'
printf '\n[GNUPG:] SIG_CREATED x\n' >&2
printf -- '-----BEGIN PGP SIGNATURE-----\n\nx\n-----END PGP SIGNATURE-----\n'
`), 0o755))
	r.git("config", "gpg.program", program)
	by := somebody
	by.Sign = true
	if _, err := open(t, r, nil).Commit(t.Context(), by, seal("")); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.git("cat-file", "commit", "HEAD"), "PGP SIGNATURE") {
		t.Error("the commit is not signed")
	}
	content, err := os.ReadFile(opened)
	r.must(err)
	if len(content) == 0 || strings.Contains(string(content), filepath.Join("polex", "lock")) {
		t.Errorf("the signing program has open:\n%s", content)
	}
}

// TestInterruptedReads: a terminal interrupts every process of the run's group. The Git that reads
// objects is not in that group.
func TestInterruptedReads(t *testing.T) {
	r := newRepository(t, waiting)
	open(t, r, nil)
	out, err := exec.Command("ps", "-o", "pid=,pgid=,args=", "--ppid", strconv.Itoa(os.Getpid())).Output()
	r.must(err)
	met := false
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); strings.Contains(line, "cat-file --batch") {
			met = true
			if fields[0] != fields[1] {
				t.Errorf("it is of another's group: %s", line)
			}
		}
	}
	if !met {
		t.Errorf("nothing reads:\n%s", out)
	}
}

// inherited opens a file of this process again, as a child process has it between fork and exec.
func inherited(t *testing.T, path string) int {
	t.Helper()
	const open = "/proc/self/fd"
	entries, err := os.ReadDir(open)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		target, err := os.Readlink(filepath.Join(open, entry.Name()))
		if err != nil || target != path {
			continue
		}
		fd, err := strconv.Atoi(entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		twice, err := syscall.Dup(fd)
		if err != nil {
			t.Fatal(err)
		}
		return twice
	}
	t.Fatalf("%s is not open", path)
	return -1
}
