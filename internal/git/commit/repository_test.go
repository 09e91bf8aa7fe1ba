package commit_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/test/expect"
)

// repository is a real Git repository, used with the real git.
type repository struct {
	tb     testing.TB
	dir    string
	killed bool // a killed run may have left temporary references
}

// waiting is a repository with pending files in different folders, with different sizes and similar
// names.
var waiting = map[string]string{
	"README.md": "# Exceptions\n", "unsigned/a.yaml": "a: 1\n", "unsigned/team/b.yml": strings.Repeat("b: 2\n", 1000),
	"unsigned/team/deep/c.json": "{}\n", "signed/old.yaml": "old: 1\n", "signed.txt": "x\n",
}

// newRepository creates a repository with one commit of the files.
func newRepository(tb testing.TB, files map[string]string) *repository {
	tb.Helper()
	r := &repository{tb: tb, dir: filepath.Join(tb.TempDir(), "clone")}
	expect.OK(tb, os.Mkdir(r.dir, 0o755))
	r.git("init", "--quiet", "--template=", "--initial-branch=main")
	for name, content := range files {
		r.write(name, content)
	}
	r.commit("Ask")
	return r
}

// bare creates a bare copy of this repository, and makes it the remote of the main branch.
func (r *repository) bare() *repository {
	r.tb.Helper()
	remote := &repository{tb: r.tb, dir: filepath.Join(filepath.Dir(r.dir), "remote.git")}
	r.git("clone", "--quiet", "--template=", "--bare", ".", remote.dir)
	r.git("remote", "add", "origin", remote.dir)
	r.git("fetch", "--quiet", "origin")
	r.git("branch", "--quiet", "--set-upstream-to=origin/main")
	return remote
}

// clone creates another clone of a bare repository.
func (r *repository) clone(name string) *repository {
	r.tb.Helper()
	c := &repository{tb: r.tb, dir: filepath.Join(filepath.Dir(r.dir), name)}
	r.git("clone", "--quiet", "--template=", r.dir, c.dir)
	return c
}

// try runs git with only the configuration of the repository.
func (r *repository) try(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Dir(r.dir), "XDG_CONFIG_HOME="+r.dir, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com",
		"GIT_AUTHOR_DATE=1772360000 +0000", "GIT_COMMITTER_DATE=1772360000 +0000")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r *repository) git(args ...string) string {
	r.tb.Helper()
	out, err := r.try(args...)
	if err != nil {
		r.tb.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (r *repository) line(args ...string) string {
	r.tb.Helper()
	return strings.TrimSpace(r.git(args...))
}

func (r *repository) path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

func (r *repository) must(err error) {
	r.tb.Helper()
	expect.OK(r.tb, err)
}

// open opens the repository until the end of the test.
func (r *repository) open() *commit.Clone {
	r.tb.Helper()
	c := expect.Value(commit.Open(commit.Options{Dir: r.dir}))(r.tb)
	r.tb.Cleanup(func() { _ = c.Close() })
	return c
}

// script writes an executable file.
func (r *repository) script(name, content string) {
	r.tb.Helper()
	r.write(name, content)
	r.must(os.Chmod(r.path(name), 0o755))
}

func (r *repository) write(name, content string) {
	r.tb.Helper()
	r.must(os.MkdirAll(filepath.Dir(r.path(name)), 0o755))
	r.must(os.WriteFile(r.path(name), []byte(content), 0o644))
}

func (r *repository) read(name string) string {
	r.tb.Helper()
	return string(expect.Value(os.ReadFile(r.path(name)))(r.tb))
}

func (r *repository) commit(message string) string {
	r.tb.Helper()
	r.git("add", "--all")
	r.git("commit", "--quiet", "--allow-empty", "--message="+message)
	return r.head()
}

func (r *repository) head() string {
	r.tb.Helper()
	return r.line("rev-parse", "HEAD")
}

// copy copies the repository and its remote to another place.
func (r *repository) copy() *repository {
	r.tb.Helper()
	to := r.tb.TempDir()
	r.must(exec.Command("cp", "-a", filepath.Dir(r.dir)+"/.", to).Run())
	c := &repository{tb: r.tb, dir: filepath.Join(to, "clone")}
	if _, err := os.Stat(filepath.Join(to, "remote.git")); err == nil {
		c.git("remote", "set-url", "origin", filepath.Join(to, "remote.git"))
	}
	return c
}

// clean checks that no attempt has left anything: work tree and index are equal to HEAD, the
// objects are complete, and there are no locks, journals or temporary files.
func (r *repository) clean() {
	r.tb.Helper()
	expect.Is(r.tb, "git status", "", r.git("status", "--porcelain", "--untracked-files=all", "--ignored"))
	if out, err := r.try("fsck", "--strict", "--no-dangling", "--full"); err != nil || strings.Contains(out, "error") || strings.Contains(out, "warning") {
		r.tb.Errorf("git fsck: %v\n%s", err, out)
	}
	r.must(filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		own := strings.Contains(path, "/refs/polex/") || strings.Contains(path, "/refs/worktree/polex/")
		if strings.HasSuffix(d.Name(), ".lock") && (!r.killed || !own) { // the next run that needs it names its lock
			r.tb.Errorf("%s is left", path)
		}
		return err
	}))
	patterns := []string{"for-each-ref", "refs/worktree", "refs/polex"}
	if r.killed {
		patterns = patterns[:2]
	}
	expect.Is(r.tb, "references left", "", r.git(patterns...))
}
