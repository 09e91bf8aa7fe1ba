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
	"github.com/polex-dev/polex/test/gitrepo"
	"github.com/polex-dev/polex/test/must"
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
	remote := repositoryAt(r.TB, filepath.Join(filepath.Dir(r.Dir), "remote.git"))
	r.Git("clone", "--quiet", "--template=", "--bare", ".", remote.Dir)
	r.Git("remote", "add", "origin", remote.Dir)
	r.Git("fetch", "--quiet", "origin")
	r.Git("branch", "--quiet", "--set-upstream-to=origin/main")
	return remote
}

// clone creates another clone of a bare repository.
func (r *repository) clone(name string) *repository {
	r.TB.Helper()
	c := repositoryAt(r.TB, filepath.Join(filepath.Dir(r.Dir), name))
	r.Git("clone", "--quiet", "--template=", r.Dir, c.Dir)
	return c
}

// open opens the repository until the end of the test.
func (r *repository) open() *commit.Clone {
	r.TB.Helper()
	c := must.Get(commit.Open(commit.Options{Dir: r.Dir}))(r.TB)
	r.TB.Cleanup(func() { _ = c.Close() })
	return c
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
