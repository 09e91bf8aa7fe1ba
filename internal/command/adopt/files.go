package adopt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/pkg/exception"
)

// repository is the work tree of a clone.
type repository struct {
	dir     string
	disk    *os.Root
	content map[string][]byte // of the tracked YAML and JSON files
	large   []string          // files that are too large
}

// open reads the tracked files of the repository that contains the working directory. It follows no
// symbolic links.
func open() (*repository, error) {
	dir, err := config.RepositoryRoot(".")
	if err == nil && dir == "" {
		err = errors.New("not in a Git repository: run this in a clone")
	}
	if err != nil {
		return nil, err
	}
	r := &repository{dir: dir, content: map[string][]byte{}}
	if r.disk, err = os.OpenRoot(dir); err != nil {
		return nil, err
	}
	tracked, err := r.git("ls-files", "-z")
	if err != nil {
		return nil, cli.Hint(err, "run this in a clone of the repository")
	}
	for _, name := range strings.FieldsFunc(tracked, func(c rune) bool { return c == 0 }) {
		if !exception.HoldsDocuments(name) && path.Base(name) != "Kustomization" {
			continue
		}
		content, err := r.read(name)
		switch {
		case errors.Is(err, git.ErrTooLarge):
			r.large = append(r.large, name)
		case err == nil && content != nil:
			r.content[name] = content
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	return r, nil
}

// read returns the content of a regular file, or nil for another kind of file.
func (r *repository) read(name string) ([]byte, error) {
	info, err := r.disk.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	file, err := r.disk.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	content, err := io.ReadAll(io.LimitReader(file, git.MaxFile+1))
	if err == nil && len(content) > git.MaxFile {
		err = fmt.Errorf("%q: %w", name, git.ErrTooLarge)
	}
	return content, err
}

// git returns the output of a git command that only reads.
func (r *repository) git(args ...string) (string, error) {
	return git.Git{Dir: r.dir, Own: true}.Run(context.Background(), git.Call{}, args...)
}

// ask is git for a command that may fail.
func (r *repository) ask(args ...string) string {
	out, _ := r.git(args...) //nolint:errcheck // "" means that it is not known
	return strings.TrimSpace(out)
}
