// Package gitrepo has Git repositories for tests, used with the real git.
package gitrepo

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/must"
)

// Repository is a Git repository on disk. Its methods run git with only the configuration of the
// repository, as Ann, and end the test at an error.
type Repository struct {
	TB   testing.TB
	Dir  string
	Home string   // HOME, without a configuration
	Env  []string // more variables
}

// Init creates the repository, with one commit of the files.
func (r *Repository) Init(message string, files map[string]string) {
	r.TB.Helper()
	r.Git("init", "--quiet", "--template=", "--initial-branch=main")
	for name, content := range files {
		r.Write(name, content)
	}
	r.Commit(message)
}

// Try runs git, and returns its output and its error.
func (r *Repository) Try(args ...string) (string, error) {
	cmd := exec.Command("git", args...) //nolint:gosec // Git, with arguments of a test
	cmd.Dir = r.Dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(setting string) bool { return strings.HasPrefix(setting, "GIT_") })
	cmd.Env = append(cmd.Env, "HOME="+r.Home, "XDG_CONFIG_HOME="+r.Home, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com")
	cmd.Env = append(cmd.Env, r.Env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Git runs git, and returns its output.
func (r *Repository) Git(args ...string) string {
	r.TB.Helper()
	out, err := r.Try(args...)
	must.That(r.TB, err == nil, "git %s: %v\n%s", strings.Join(args, " "), err, out)
	return out
}

// Line is Git without spaces around the output.
func (r *Repository) Line(args ...string) string {
	r.TB.Helper()
	return strings.TrimSpace(r.Git(args...))
}

// Path is the path of a file of the work tree on disk.
func (r *Repository) Path(name string) string { return filepath.Join(r.Dir, filepath.FromSlash(name)) }

// Write writes a file of the work tree. A name that ends in a slash is a folder.
func (r *Repository) Write(name, content string) {
	r.TB.Helper()
	if strings.HasSuffix(name, "/") {
		must.Do(r.TB, os.MkdirAll(r.Path(name), 0o755))
		return
	}
	must.Do(r.TB, os.MkdirAll(filepath.Dir(r.Path(name)), 0o755))
	must.Do(r.TB, os.WriteFile(r.Path(name), []byte(content), 0o644))
}

// Read reads a file of the work tree.
func (r *Repository) Read(name string) string {
	r.TB.Helper()
	return string(must.Get(os.ReadFile(r.Path(name)))(r.TB))
}

// Commit commits the work tree, and returns the hash.
func (r *Repository) Commit(message string) string {
	r.TB.Helper()
	r.Git("add", "--all")
	r.Git("commit", "--quiet", "--allow-empty", "--message="+message)
	return r.Head()
}

// CommitFile commits a file with this content, and all else of the work tree.
func (r *Repository) CommitFile(message, name, content string) string {
	r.TB.Helper()
	r.Write(name, content)
	return r.Commit(message)
}

// Head is the hash of the commit that is checked out.
func (r *Repository) Head() string {
	r.TB.Helper()
	return r.Line("rev-parse", "HEAD")
}

// Fsck checks that the objects are complete.
func (r *Repository) Fsck() {
	r.TB.Helper()
	out, err := r.Try("fsck", "--strict", "--no-dangling", "--full")
	if err != nil || strings.Contains(out, "error") || strings.Contains(out, "warning") {
		r.TB.Errorf("git fsck: %v\n%s", err, out)
	}
}

// Instead makes git run a shell script in the place of commands that contain a text, until the end of the test. In
// the script, $REAL is the real Git.
func Instead(t *testing.T, of, script string) {
	t.Helper()
	git := must.Get(exec.LookPath("git"))(t)
	bin := t.TempDir()
	text := "#!/bin/sh\nREAL='" + git + "'\ncase \"$*\" in *" + of + "*) " + script + ";; esac\nexec \"$REAL\" \"$@\"\n"
	must.Do(t, os.WriteFile(filepath.Join(bin, "git"), []byte(text), 0o755)) //nolint:gosec // a program
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}
