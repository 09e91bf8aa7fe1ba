package changed_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/command/changed"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	command := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	command.Dir = dir
	return strings.TrimSpace(must.Run(t, command))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
}

// repository has the branches main and work. Both have commits after a common commit.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "--quiet", "--initial-branch=main")
	for _, name := range []string{"same", "edited", "staged", "uncommitted", "theirs"} {
		write(t, filepath.Join(dir, "unsigned", name+".yaml"), name)
	}
	git(t, dir, "add", "--all")
	git(t, dir, "commit", "--quiet", "--message", "one")
	git(t, dir, "tag", "--annotate", "--message", "a tag", "v1")
	git(t, dir, "switch", "--quiet", "--create", "work")
	write(t, filepath.Join(dir, "unsigned", "edited.yaml"), "edited twice")
	write(t, filepath.Join(dir, "unsigned", "added.yaml"), "added")
	git(t, dir, "add", "--all")
	git(t, dir, "commit", "--quiet", "--message", "two")
	git(t, dir, "commit", "--quiet", "--allow-empty", "--message", "and again")
	git(t, dir, "switch", "--quiet", "main")
	write(t, filepath.Join(dir, "unsigned", "theirs.yaml"), "changed on main alone")
	git(t, dir, "commit", "--quiet", "--all", "--message", "three")
	git(t, dir, "commit", "--quiet", "--allow-empty", "--message", "four")
	git(t, dir, "switch", "--quiet", "work")
	write(t, filepath.Join(dir, "unsigned", "staged.yaml"), "staged too")
	git(t, dir, "add", "--all")
	write(t, filepath.Join(dir, "unsigned", "uncommitted.yaml"), "not committed")
	write(t, filepath.Join(dir, "unsigned", "untracked.yaml"), "nor known to Git")
	return dir
}

func TestChanged(t *testing.T) {
	dir := repository(t)
	linked := filepath.Join(t.TempDir(), "linked")
	git(t, dir, "worktree", "add", "--quiet", "--detach", linked, "work")
	packed := filepath.Join(t.TempDir(), "packed")
	git(t, dir, "clone", "--quiet", "--no-local", dir, packed)
	git(t, packed, "gc", "--quiet")
	for _, tc := range []struct {
		dir, ref string
		want     map[string]bool
	}{
		{dir, "main", map[string]bool{"same": false, "theirs": false, "edited": true, "added": true, "staged": true, "uncommitted": true, "untracked": true}},
		{dir, git(t, dir, "rev-parse", "main"), map[string]bool{"same": false, "theirs": false, "edited": true}},
		{dir, "main~1", map[string]bool{"same": false, "edited": true}},
		{dir, "v1", map[string]bool{"same": false, "edited": true}},
		{dir, "work", map[string]bool{"same": false, "edited": false, "staged": true}},
		{filepath.Join(dir, "unsigned"), "refs/heads/main", map[string]bool{"same": false, "edited": true}},
		{linked, "main", map[string]bool{"same": false, "edited": true, "added": true, "staged": false}},
		{packed, "origin/main", map[string]bool{"same": false, "edited": true, "added": true}},
	} {
		since, err := changed.Open(t.Context(), tc.dir, tc.ref)
		must.That(t, err == nil, "%s: %v", tc.ref, err)
		root := strings.TrimSuffix(tc.dir, string(filepath.Separator)+"unsigned")
		for name, want := range tc.want {
			got, err := since.Changed(filepath.Join(root, "unsigned", name+".yaml"))
			expect.That(t, err == nil && got == want, "%s since %s: %t, %v", name, tc.ref, got, err)
		}
		outside := filepath.Join(t.TempDir(), "outside.yaml")
		write(t, outside, "same")
		if got, err := since.Changed(outside); err != nil || !got {
			t.Errorf("outside of the work tree: %t, %v", got, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := repository(t)
	shallow := filepath.Join(t.TempDir(), "shallow")
	git(t, dir, "clone", "--quiet", "--no-local", "--depth=1", "--no-single-branch", "--branch=work", dir, shallow)
	for _, tc := range []struct{ name, dir, ref, want string }{
		{"no repository", t.TempDir(), "main", "not a git repository"},
		{"an option", dir, "--all", "no branch, tag or commit"},
		{"a file of a commit", dir, "main:unsigned", "no branch, tag or commit"},
		{"no such branch", dir, "nowhere", "no branch, tag or commit"},
		{"no such commit", dir, strings.Repeat("a", 40), "no branch, tag or commit"},
		{"a shallow clone", shallow, "origin/main", "shallow"},
	} {
		if _, err := changed.Open(t.Context(), tc.dir, tc.ref); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q in it", tc.name, err, tc.want)
		}
	}
}

// TestSHA256: a repository may use SHA-256 for object names.
func TestSHA256(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "--quiet", "--initial-branch=main", "--object-format=sha256")
	write(t, filepath.Join(dir, "same.yaml"), "same")
	write(t, filepath.Join(dir, "edited.yaml"), "one")
	git(t, dir, "add", "--all")
	git(t, dir, "commit", "--quiet", "--message", "one")
	write(t, filepath.Join(dir, "edited.yaml"), "two")
	since := must.Get(changed.Open(t.Context(), dir, "main"))(t)
	for name, want := range map[string]bool{"same": false, "edited": true} {
		got, err := since.Changed(filepath.Join(dir, name+".yaml"))
		expect.That(t, err == nil && got == want, "%s: %t, %v", name, got, err)
	}
}

// TestTouched: a folder is touched if a file in it was added, removed or changed, or if its path has a symbolic link.
func TestTouched(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(t *testing.T)
		touched bool
	}{
		"nothing":       {func(*testing.T) {}, false},
		"another file":  {func(t *testing.T) { write(t, "unsigned/a.yaml", "a") }, false},
		"another bytes": {func(t *testing.T) { write(t, "team/policies/a.yaml", "b") }, true},
		"a new file":    {func(t *testing.T) { write(t, "team/policies/more/c.yaml", "c") }, true},
		"a file gone":   {func(t *testing.T) { remove(t, "team/policies/b.yaml") }, true},
		"a link to a folder that is the same": {func(t *testing.T) {
			remove(t, "team")
			must.Do(t, os.Symlink("tests", "team"))
		}, true},
		"no folder": {func(t *testing.T) { remove(t, "team") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			git(t, ".", "init", "--quiet")
			for _, file := range []string{"team/policies/a.yaml", "team/policies/b.yaml", "team/policies-old/a.yaml", "tests/policies/a.yaml", "tests/policies/b.yaml"} {
				write(t, file, "a")
			}
			git(t, ".", "add", "--all")
			git(t, ".", "commit", "--quiet", "--message", "one")
			since := must.Get(changed.Open(t.Context(), ".", "HEAD"))(t)
			tc.change(t)
			touched, err := since.Touched("team/policies")
			expect.That(t, err == nil && touched == tc.touched, "touched is %t: %v", touched, err)
			elsewhere := filepath.Join(t.TempDir(), "policies")
			write(t, filepath.Join(elsewhere, "a.yaml"), "a")
			touched, err = since.Touched(elsewhere)
			expect.That(t, err == nil && !touched, "outside of the work tree, touched is %t: %v", touched, err)
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	must.Do(t, os.RemoveAll(path))
}
