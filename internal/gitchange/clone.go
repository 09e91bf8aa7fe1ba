package gitchange

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"github.com/polex-dev/polex/internal/gittree"
)

// Options say which clone is worked in.
type Options struct {
	Dir string // any folder of the work tree
	// Step, where it is not nil, is called before every step that somebody else
	// could see: a file written, renamed or removed, a reference moved, a fetch, a
	// push. Its error fails that step.
	Step func(name string) error
}

// Clone is a clone of a repository, with its work tree, that one process works
// in. It is not for several goroutines at once.
type Clone struct {
	// Recovered says in a sentence what was made of a change that was cut off; it
	// is empty where there was none.
	Recovered string

	options    Options
	repository *git.Repository
	work       *os.Root // the work tree
	own        *os.Root // its Git folder: HEAD, index
	common     *os.Root // the repository's Git folder, of all its work trees: objects, branches
	lock       *os.File
	author     *Author // as Git names it, once it was asked
}

// folder is where the files of this package lie in the Git folder.
const folder = "polex"

// ErrBusy says that another process works in the clone.
var ErrBusy = errors.New("another run is at work in this clone")

// Open opens the clone that a folder lies in, for this process alone: while it
// is open, another call returns [ErrBusy]. A change that was cut off is finished
// or taken back first. A repository that cannot be changed without losing
// something (no work tree, a sparse checkout, a split index, references or
// objects in another format than files and SHA-1) is an error, and so is one with a
// setting that is not heeded ([ErrSetting]).
func Open(o Options) (*Clone, error) {
	repository, err := git.PlainOpenWithOptions(o.Dir, &git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	if errors.Is(err, git.ErrUnknownExtension) || errors.Is(err, git.ErrUnsupportedExtensionRepositoryFormatVersion) {
		return nil, fmt.Errorf("open repository %q: it is a partial clone, a sparse checkout, or keeps its references or objects in a format that is not supported: make a plain clone: %w", o.Dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open repository %q: %w", o.Dir, err)
	}
	worktree, err := repository.Worktree()
	if err != nil {
		return nil, fmt.Errorf("open work tree of %q: %w", o.Dir, err)
	}
	c := &Clone{options: o, repository: repository}
	if err := c.open(worktree.Filesystem.Root()); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Clone) open(root string) error {
	own, common, err := gitFolders(root)
	if err != nil {
		return err
	}
	for _, r := range []struct {
		into **os.Root
		path string
	}{{&c.work, root}, {&c.own, own}, {&c.common, common}} {
		if *r.into, err = os.OpenRoot(r.path); err != nil {
			return fmt.Errorf("open repository: %w", err)
		}
	}
	if err := c.own.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("open repository: %w", err)
	}
	if c.lock, err = lockFile(c.own, folder+"/lock"); err != nil {
		return err
	}
	if err := c.preflight(); err != nil {
		return err
	}
	if c.Recovered, err = c.recover(); err != nil {
		return fmt.Errorf("an earlier run was cut off: %w", err)
	}
	return nil
}

// Close lets others work in the clone.
func (c *Clone) Close() error {
	var errs []error
	if c.lock != nil {
		errs = append(errs, unlock(c.lock))
	}
	for _, root := range []*os.Root{c.work, c.own, c.common} {
		if root != nil {
			errs = append(errs, root.Close())
		}
	}
	return errors.Join(errs...)
}

// gitFolders returns the Git folder of a work tree, and that of its repository,
// which is another where the work tree is a linked one (gitrepository-layout:
// commondir).
func gitFolders(root string) (own, common string, err error) {
	own = filepath.Join(root, ".git")
	info, err := os.Lstat(own)
	if err != nil {
		return "", "", fmt.Errorf("open repository: %w", err)
	}
	if !info.IsDir() {
		content, err := os.ReadFile(own)
		if err != nil {
			return "", "", fmt.Errorf("open repository: %w", err)
		}
		leads, ok := strings.CutPrefix(strings.TrimSpace(string(content)), "gitdir: ")
		if !ok {
			return "", "", fmt.Errorf("open repository: %s leads nowhere", own)
		}
		if own = leads; !filepath.IsAbs(own) {
			own = filepath.Join(root, own)
		}
	}
	leads, err := os.ReadFile(filepath.Join(own, "commondir")) // #nosec G703 -- where Git itself looks
	if errors.Is(err, fs.ErrNotExist) {
		return own, own, nil
	}
	if err != nil {
		return "", "", fmt.Errorf("open repository: %w", err)
	}
	if common = strings.TrimSpace(string(leads)); !filepath.IsAbs(common) {
		common = filepath.Join(own, common)
	}
	return own, common, nil
}

// Tree returns what a commit of the clone holds.
func (c *Clone) Tree(commit plumbing.Hash) (*gittree.Tree, error) {
	tree, err := gittree.In(c.repository.Storer, commit)
	if err != nil {
		return nil, fmt.Errorf("read commit %s: %w", commit, err)
	}
	return tree, nil
}

// Objects returns the objects of the clone, for whoever only reads them.
func (c *Clone) Objects() storer.EncodedObjectStorer { return c.repository.Storer }

// do runs one step.
func (c *Clone) do(name string, step func() error) error {
	if c.options.Step != nil {
		if err := c.options.Step(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := step(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
