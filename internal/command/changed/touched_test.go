package changed_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/polex-dev/polex/internal/command/changed"
	"github.com/polex-dev/polex/test/must"
)

// TestTouched: a folder is touched if a file in it was added, removed or changed, or if its path
// has a symbolic link.
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
			if touched, err := since.Touched("team/policies"); err != nil || touched != tc.touched {
				t.Errorf("touched is %t: %v", touched, err)
			}
			elsewhere := filepath.Join(t.TempDir(), "policies")
			write(t, filepath.Join(elsewhere, "a.yaml"), "a")
			if touched, err := since.Touched(elsewhere); err != nil || touched {
				t.Errorf("outside of the work tree, touched is %t: %v", touched, err)
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	must.Do(t, os.RemoveAll(path))
}
