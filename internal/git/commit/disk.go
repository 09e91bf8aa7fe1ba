package commit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/polex-dev/polex/internal/git"
)

// ErrInTheWay means that the work tree contains unexpected content, which polex must not overwrite
// or remove.
var ErrInTheWay = errors.New("another file or folder is in the way")

// onDisk returns the version of a path that the work tree contains. Git decides about line ends,
// filters and core.fileMode. Any other content is [ErrInTheWay]. onDisk follows no links, because
// their targets are not in the work tree.
func (c *Clone) onDisk(name string, versions ...git.Entry) (git.Entry, error) {
	var none git.Entry
	if slices.ContainsFunc(versions, func(v git.Entry) bool { return v.Mode == filemode.Submodule }) {
		return none, fmt.Errorf("%q is a submodule: %w", name, ErrInTheWay)
	}
	info, err := c.lstat(name)
	switch {
	// Others may push a name that this file system does not allow. Git then fails to write it, and
	// polex must undo the other files.
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENAMETOOLONG):
		if slices.Contains(versions, none) {
			return none, nil
		}
		return none, fmt.Errorf("%q is not there: %w", name, ErrInTheWay)
	case err != nil:
		return none, err
	}
	for _, hashOf := range []func(string, fs.FileInfo) (plumbing.Hash, error){c.asItIs, c.asCommitted} {
		hash, err := hashOf(name, info)
		if err != nil {
			return none, err
		}
		if i := slices.IndexFunc(versions, func(v git.Entry) bool {
			return !v.Absent() && v.Hash() == hash && c.sameMode(v, info.Mode())
		}); i >= 0 {
			return versions[i], nil
		}
	}
	return none, fmt.Errorf("%q: %w", name, ErrInTheWay)
}

func (c *Clone) lstat(name string) (fs.FileInfo, error) {
	for i, char := range name {
		if char != '/' {
			continue
		}
		info, err := c.work.Lstat(name[:i])
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%q is not a folder: %w", name[:i], ErrInTheWay)
		}
		if err != nil {
			return nil, err
		}
	}
	return c.work.Lstat(name)
}

// asItIs returns the hash of the bytes of a file or link, or zero if the file is larger than any
// file that polex writes.
func (c *Clone) asItIs(name string, info fs.FileInfo) (plumbing.Hash, error) {
	var content []byte
	var err error
	switch mode := info.Mode(); {
	case mode.Type() == fs.ModeSymlink:
		var target string
		target, err = c.work.Readlink(name)
		content = []byte(target)
	case !mode.IsRegular():
		err = fmt.Errorf("%q is neither file nor link: %w", name, ErrInTheWay)
	default:
		content, err = c.readFile(name)
		if errors.Is(err, git.ErrTooLarge) {
			return plumbing.ZeroHash, nil
		}
	}
	return plumbing.ComputeHash(plumbing.BlobObject, content), err
}

// asCommitted returns the hash that Git would give a file in a commit.
func (c *Clone) asCommitted(name string, info fs.FileInfo) (plumbing.Hash, error) {
	if !info.Mode().IsRegular() {
		return plumbing.ZeroHash, nil
	}
	f, err := c.work.Open(name)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	defer f.Close() //nolint:errcheck // only read
	said, err := c.ask(call{input: f}, "hash-object", "--stdin", "--path", name)
	return plumbing.NewHash(strings.TrimSpace(said)), err
}

func (c *Clone) readFile(name string) ([]byte, error) {
	f, err := c.work.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	content, err := io.ReadAll(io.LimitReader(f, git.MaxFile+1))
	if err == nil && len(content) > git.MaxFile {
		err = fmt.Errorf("%q: %w", name, git.ErrTooLarge)
	}
	return content, err
}

// sameMode reports whether a file mode is compatible with a version.
func (c *Clone) sameMode(v git.Entry, mode fs.FileMode) bool {
	switch {
	case v.Mode == filemode.Symlink:
		return mode.Type() == fs.ModeSymlink
	case v.Mode == filemode.Submodule || !mode.IsRegular():
		return false
	default:
		return c.noModes || (v.Mode == filemode.Executable) == (mode&0o100 != 0)
	}
}

// begun reports whether a file is missing or contains the beginning of a version as Git writes it.
// A killed Git leaves such a file.
func (c *Clone) begun(name string, versions ...git.Entry) bool {
	info, err := c.lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	there, err := c.readFile(name)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(versions, func(v git.Entry) bool {
		if !v.IsFile() {
			return false
		}
		whole, err := c.ask(call{}, "cat-file", "--filters", "--path="+name, v.Hash().String())
		return err == nil && bytes.HasPrefix([]byte(whole), there)
	})
}

// removeFile removes a file and its empty parent folders, as Git does.
func (c *Clone) removeFile(name string) error {
	return c.do("remove "+name, func() error {
		if err := c.work.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		// Remove fails for the first folder that is not empty.
		for dir := path.Dir(name); dir != "." && c.work.Remove(dir) == nil; dir = path.Dir(dir) {
		}
		return nil
	})
}

// sync writes files to disk, so that they survive a power failure.
func (c *Clone) sync(names []string) error {
	folders := map[string]bool{}
	for _, name := range names {
		folders[path.Dir(name)] = true
		if info, err := c.lstat(name); err != nil || !info.Mode().IsRegular() {
			continue // a link has no content of its own
		}
		f, err := c.work.Open(name)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	for dir := range folders {
		if err := syncFolder(c.work, dir); err != nil {
			return err
		}
	}
	return nil
}
