package commit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/polex-dev/polex/internal/git"
)

// Options say which clone is worked in.
type Options struct {
	Dir string // any folder of the work tree
	// Step, where it is not nil, is called before every step that somebody else
	// could see: an object written, a file removed, a reference moved, a fetch, a
	// push. Its error fails that step.
	Step func(name string) error
}

// Clone is a clone of a repository, with its work tree, that one process works
// in. It is not for several goroutines at once.
type Clone struct {
	*git.Repository

	// Recovered says in a sentence what was made of a change that was cut off; it
	// is empty where there was none.
	Recovered string

	options Options
	dir     string   // the work tree
	work    *os.Root // the same
	own     *os.Root // its Git folder: HEAD, index
	private string   // what the names of this package's references begin with
	shared  string   // the Git folder of all work trees, which has these references
	lock    *os.File
	objects *objects
	author  *Author // as Git names it, once it was asked
	noModes bool    // core.fileMode is false
}

// folder is where the files of this package lie in the Git folder.
const folder = "polex"

// ErrBusy says that another process works in the clone.
var ErrBusy = errors.New("another run is at work in this clone")

// ErrSetting says that a clone has a setting with which a change of it would harm: it is
// refused before anything is signed or written.
var ErrSetting = errors.New("this setting of the clone is not supported")

// Open opens the clone that a folder lies in, for this process alone: while it
// is open, another call for the same work tree returns [ErrBusy]. A change that was cut
// off is finished or taken back first. A folder without a work tree is an error, and so is
// a setting with which a change would lose something ([ErrSetting]).
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
		return fmt.Errorf("open repository %q: %w", c.dir, err)
	}
	lines := strings.Split(strings.TrimSuffix(said, "\n"), "\n")
	if len(lines) != 3 {
		return fmt.Errorf("open repository %q: its path has a line break", c.dir)
	}
	// What is asked of the repository by where its files are would be asked of another.
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
	// References of one work tree alone (refs/worktree) would not count for a git gc that runs
	// in another one.
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
	c.noModes = c.is(false, "core.fileMode")
	if c.Recovered, err = c.recover(); err != nil {
		return fmt.Errorf("an earlier run was cut off: %w", err)
	}
	return nil
}

// supported refuses a clone whose objects or references cannot be read here, and one whose
// work tree leaves parts out, or in which no reference of this package can be.
func (c *Clone) supported() error {
	for _, s := range []struct{ name, plain, mend string }{
		{"extensions.objectFormat", "sha1", "only SHA-1 is read"},
		{"extensions.refStorage", "files", "make a plain clone"},
		{"extensions.partialClone", "", "make a plain clone"},
		{"core.sparseCheckout", "false", "git sparse-checkout disable"},
	} {
		if value := c.setting(s.name); value != "" && value != s.plain {
			return fmt.Errorf("%w: %s is %q: %s", ErrSetting, s.name, value, s.mend)
		}
	}
	if said, err := c.ask(call{}, "config", "--type=bool", "--get-regexp", `^remote\..*\.promisor$`); err == nil && strings.Contains(said, " true\n") {
		return fmt.Errorf("%w: %s: this clone does not have every object: make a plain clone", ErrSetting, strings.TrimSpace(said))
	}
	names, err := c.references()
	for _, name := range names {
		if strings.HasPrefix(c.private, name+"/") {
			return fmt.Errorf("%w: the reference %s is in the place of the references of polex: git update-ref -d %[2]s", ErrSetting, name)
		}
	}
	return err
}

// lockClone takes the lock of the work tree. In a repository that a group shares, its
// others may take it later.
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
	// Who can read a lock can hold it.
	mode := info.Mode() & 0o660
	if info.Mode()&0o002 != 0 {
		mode = 0o666
	}
	c.lock, err = lockFile(c.own, folder+"/lock", mode)
	return err
}

// Close lets others work in the clone.
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

// Attributes returns the answer of git check-attr -z about attributes of paths.
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
