package adopt

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/adopt"
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/pkg/exception"
)

// files are the files of a repository.
type files struct {
	content        map[string][]byte // of YAML and JSON files
	dirty          []string          // files that differ from HEAD
	untracked      []string          // files that are not in HEAD
	large          []string          // files that are too large
	origin, branch string
}

// readFiles reads the files of HEAD: unchanged ones from the commit, changed ones from the work
// tree. It follows no symbolic links.
func readFiles(clone *commit.Clone, unsigned string) (*files, error) {
	head, err := clone.Head()
	if err != nil {
		return nil, cli.Hint(err, "commit the exceptions first")
	}
	tree, err := clone.Tree(head.Commit)
	if err != nil {
		return nil, err
	}
	root, err := config.RepositoryRoot(".")
	if err != nil {
		return nil, err
	}
	f := &files{content: map[string][]byte{}, origin: ask(root, "remote", "get-url", "origin")}
	f.branch = strings.TrimPrefix(ask(root, "symbolic-ref", "--short", "refs/remotes/origin/HEAD"), "origin/")
	if f.dirty, err = clone.Dirty("."); err != nil {
		return nil, err
	}
	if err := tree.Walk(".", func(e git.Entry) error {
		if !e.IsFile() || !isRead(e.Path) || slices.Contains(f.dirty, e.Path) {
			return nil
		}
		if f.content[e.Path], err = tree.Read(e); errors.Is(err, git.ErrTooLarge) {
			f.large, err = append(f.large, e.Path), nil
		}
		return err
	}); err != nil {
		return nil, err
	}
	disk, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer disk.Close() //nolint:errcheck // only read
	for _, name := range f.dirty {
		if !isRead(name) {
			continue
		}
		if committed, err := tree.At(name); err != nil || committed.Absent() {
			if name != config.Name && !strings.HasPrefix(name, unsigned+"/") {
				f.untracked = append(f.untracked, name) // no deployment uses it
			}
			continue
		}
		content, err := readRegular(disk, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if content != nil {
			f.content[name] = content
		}
	}
	return f, nil
}

func isRead(name string) bool {
	return exception.HoldsDocuments(name) || path.Base(name) == "Kustomization"
}

// readRegular returns the content of a regular file, or nil for another kind of file.
func readRegular(disk *os.Root, name string) ([]byte, error) {
	info, err := disk.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	file, err := disk.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	content, err := io.ReadAll(io.LimitReader(file, git.MaxFile+1))
	if err == nil && len(content) > git.MaxFile {
		err = fmt.Errorf("%s is larger than %d MiB", name, git.MaxFile>>20)
	}
	return content, err
}

// ask returns the output of a git command, or "" if it fails.
func ask(root string, args ...string) string {
	out, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output() // #nosec G204 -- the arguments are those above
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// propose makes the change of a plan.
func (f *files) propose(plan *adopt.Plan) commit.Propose {
	return func(*git.Tree) (commit.Change, error) {
		return commit.Change{Write: plan.Write, Remove: plan.Remove, Message: "Adopt exceptions"}, nil
	}
}
