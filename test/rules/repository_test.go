package rules_test

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/polex-dev/polex/test/must"
)

// module is the path of the root module.
const module = "github.com/polex-dev/polex"

// pkg has the fields of `go list -json` that the rules use.
type pkg struct {
	ImportPath string
	Name       string
	Dir        string
	GoFiles    []string
	Imports    []string
}

// rel returns the package's path inside the module: "pkg/seal".
func (p pkg) rel() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

// look opens every directory of the repository. go test caches a result until a file changes that
// the test itself opened; it does not see files that git and go list read.
var look = sync.OnceValue(func() error {
	return filepath.WalkDir(filepath.Join("..", ".."), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "bin") {
			return fs.SkipDir
		}
		return err
	})
})

// output runs a command at the repository's root.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	must.Do(t, look())
	cmd := exec.Command(name, args...)
	cmd.Dir = filepath.Join("..", "..")
	return must.Output(t, cmd)
}

// list returns `go list` of the patterns, without test files.
func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(output(t, "go",
		append([]string{"list", "-json=ImportPath,Name,Dir,GoFiles,Imports"}, args...)...)))
	var pkgs []pkg
	for {
		var p pkg
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return pkgs
		case err != nil:
			t.Fatalf("read go list's answer: %v", err)
		}
		pkgs = append(pkgs, p)
	}
}

// files returns the paths of the repository's committed and new files, with slashes and relative to
// the root.
func files(t *testing.T) []string {
	t.Helper()
	out := output(t, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	names := strings.Split(strings.TrimRight(out, "\x00"), "\x00")
	// A file that was deleted but not yet staged is still listed.
	names = slices.DeleteFunc(names, func(name string) bool {
		_, err := os.Lstat(filepath.Join("..", "..", name))
		return errors.Is(err, os.ErrNotExist)
	})
	if !slices.Contains(names, "go.mod") {
		t.Fatalf("git lists %d files and no go.mod: not the root?", len(names))
	}
	return names
}

// read returns the content of one file of the repository.
func read(t *testing.T, name string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(filepath.Join("..", "..", name)))(t)
}
