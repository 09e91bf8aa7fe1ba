package commit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/retry"
)

// Options select the clone.
type Options struct {
	Dir string // any folder of the work tree
	// Step, if set, is called before every step with an effect that others can see: write an
	// object, remove a file, move a reference, fetch or push. If it returns an error, the step
	// fails.
	Step func(name string) error
	// Timing limits the commands that ask a remote, and the waits between their tries.
	Timing retry.Timing
}

// Clone is a clone of a repository with a work tree that one process uses. It is not safe for
// concurrent use.
type Clone struct {
	*git.Repository

	// Recovered describes in one sentence the recovery of an interrupted change, or is empty.
	Recovered string

	options Options
	dir     string   // the work tree
	work    *os.Root // the work tree, too
	own     *os.Root // the Git folder of the work tree: HEAD, index
	private string   // prefix of this package's references
	shared  string   // the Git folder shared by all work trees; it contains these references
	lock    *os.File
	objects *objects
	author  *Author // Git's author, after the first query
	noModes bool    // core.fileMode is false
}

// folder is this package's folder in the Git folder.
const folder = "polex"

// ErrBusy means that another process uses the clone.
var ErrBusy = errors.New("another run is at work in this clone")

// ErrSetting means that a setting of the clone makes a change unsafe. polex rejects it before it
// signs or writes anything.
var ErrSetting = errors.New("this setting of the clone is not supported")

// Open opens the clone that contains a folder, for this process only: a second call for the same
// work tree returns [ErrBusy]. It first completes or undoes an interrupted change. A folder without
// a work tree is an error. A setting that would make a change lose data is [ErrSetting].
func Open(o Options) (*Clone, error) {
	c := &Clone{options: o, dir: o.Dir}
	if err := c.open(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Clone) open() error {
	said, err := c.ask(call{}, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir", "--git-common-dir")
	if err != nil {
		if strings.Contains(err.Error(), "not a git repository") {
			err = errors.New("not in a Git repository: run this in a clone")
		}
		return fmt.Errorf("open repository %q: %w", c.dir, err)
	}
	lines := strings.Split(strings.TrimSuffix(said, "\n"), "\n")
	if len(lines) != 3 {
		return fmt.Errorf("open repository %q: its path has a line break", c.dir)
	}
	// With core.worktree, Git commands that run in this folder would use another repository.
	if _, err := os.Lstat(filepath.Join(lines[0], ".git")); err != nil {
		return fmt.Errorf("%w: core.worktree leads to %q: work in a clone of your own", ErrSetting, lines[0])
	}
	c.dir = lines[0]
	if c.work, err = os.OpenRoot(lines[0]); err != nil {
		return fmt.Errorf("open repository: %w", err)
	}
	if c.own, err = os.OpenRoot(lines[1]); err != nil {
		return fmt.Errorf("open repository: %w", err)
	}
	// References of a single work tree (refs/worktree) would not protect objects from a git gc in
	// another work tree.
	c.private, c.shared = "refs/polex/main/", lines[2]
	if lines[1] != lines[2] {
		c.private = workTrees + filepath.Base(lines[1]) + "/"
	}
	if err := c.supported(); err != nil {
		return err
	}
	folders := git.Folders{Own: lines[1], Common: lines[2]}
	if folders.Objects, err = c.readObjects(); err != nil {
		return err
	}
	if c.Repository, err = git.OpenFolders(folders); err != nil {
		return err
	}
	if err := c.lockClone(); err != nil {
		return err
	}
	if c.noModes, err = c.is(false, "core.fileMode"); err != nil {
		return err
	}
	if c.Recovered, err = c.recover(); err != nil {
		return fmt.Errorf("an earlier run was interrupted: %w", err)
	}
	return nil
}

// supported rejects a clone with objects or references that this package cannot read, with an
// incomplete work tree, or with a reference in the place of this package's references.
func (c *Clone) supported() error {
	for _, s := range []struct{ name, plain, mend string }{
		{"extensions.objectFormat", "sha1", "only SHA-1 is read"},
		{"extensions.refStorage", "files", "make a plain clone"},
		{"extensions.partialClone", "", "make a plain clone"},
	} {
		value, err := c.setting(s.name)
		if err != nil {
			return err
		}
		if value != "" && value != s.plain {
			return fmt.Errorf("%w: %s is %q: %s", ErrSetting, s.name, value, s.mend)
		}
	}
	sparse, err := c.is(true, "core.sparseCheckout")
	if sparse {
		err = fmt.Errorf("%w: core.sparseCheckout is \"true\": git sparse-checkout disable", ErrSetting)
	}
	if err != nil {
		return err
	}
	promisors, err := c.setting("--type=bool", "--get-regexp", `^remote\..*\.promisor$`)
	if err == nil && strings.Contains(promisors+"\n", " true\n") {
		err = fmt.Errorf("%w: %s: this clone does not have every object: make a plain clone", ErrSetting, promisors)
	}
	if err != nil {
		return err
	}
	names, err := c.references()
	for _, name := range names {
		if strings.HasPrefix(c.private, name+"/") {
			return fmt.Errorf("%w: the reference %s blocks the references of polex: git update-ref -d %[2]s", ErrSetting, name)
		}
	}
	return err
}

// lockClone locks the work tree. In a repository shared by a group, the other members can lock it
// later.
func (c *Clone) lockClone() error {
	info, err := c.own.Stat(".")
	if err != nil {
		return fmt.Errorf("lock the clone: %w", err)
	}
	err = c.own.Mkdir(folder, 0o777)
	if err == nil {
		err = c.own.Chmod(folder, info.Mode()&(fs.ModePerm|fs.ModeSetgid))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("lock the clone: %w", err)
	}
	// Every user who can read a lock file can hold the lock.
	mode := info.Mode() & 0o660
	if info.Mode()&0o002 != 0 {
		mode = 0o666
	}
	c.lock, err = lockFile(c.own, folder+"/lock", mode)
	return err
}

// Close releases the clone for other processes.
func (c *Clone) Close() error {
	var errs []error
	if c.objects != nil {
		errs = append(errs, c.objects.close())
	}
	if c.lock != nil {
		errs = append(errs, unlock(c.lock))
	}
	if c.Repository != nil {
		errs = append(errs, c.Repository.Close())
	}
	for _, root := range []*os.Root{c.work, c.own} {
		if root != nil {
			errs = append(errs, root.Close())
		}
	}
	return errors.Join(errs...)
}

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

// Attributes returns the output of git check-attr -z for attributes of paths.
func (c *Clone) Attributes(paths []string, names ...string) (string, error) {
	if len(paths) == 0 {
		return "", nil
	}
	out, err := c.ask(call{input: list(paths)}, append([]string{"check-attr", "-z", "--stdin"}, names...)...)
	if err != nil {
		return "", fmt.Errorf("read attributes of files: %w", err)
	}
	return out, nil
}
