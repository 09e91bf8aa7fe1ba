package gitchange

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/polex-dev/polex/internal/gittree"
)

// ErrInTheWay says that the work tree holds something else than what is known to
// be there, which is nobody's to overwrite or remove.
var ErrInTheWay = errors.New("the work tree holds something else there")

// onDisk returns what the work tree has at a path. No link is followed on the
// way: what lies behind one is not in the work tree.
func (c *Clone) onDisk(name string) (version, error) {
	for i, char := range name {
		if char != '/' {
			continue
		}
		info, err := c.work.Lstat(name[:i])
		if errors.Is(err, fs.ErrNotExist) {
			return version{}, nil
		}
		if err != nil {
			return version{}, err
		}
		if !info.IsDir() {
			return version{}, fmt.Errorf("%q is no folder: %w", name[:i], ErrInTheWay)
		}
	}
	info, err := c.work.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return version{}, nil
	}
	if err != nil {
		return version{}, err
	}
	switch mode := info.Mode(); {
	case mode.Type() == fs.ModeSymlink:
		target, err := c.work.Readlink(name)
		return version{Mode: filemode.Symlink, Hash: plumbing.ComputeHash(plumbing.BlobObject, []byte(target))}, err
	case !mode.IsRegular():
		return version{}, fmt.Errorf("%q is neither file nor link: %w", name, ErrInTheWay)
	}
	content, err := c.readFile(name)
	if err != nil {
		return version{}, err
	}
	v := version{Mode: filemode.Regular, Hash: plumbing.ComputeHash(plumbing.BlobObject, content)}
	if info.Mode()&0o100 != 0 {
		v.Mode = filemode.Executable
	}
	return v, nil
}

// readFile reads a file that Git could have written here: no larger one is taken
// for it.
func (c *Clone) readFile(name string) ([]byte, error) {
	f, err := c.work.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	content, err := io.ReadAll(io.LimitReader(f, gittree.MaxFile+1))
	if err == nil && len(content) > gittree.MaxFile {
		err = fmt.Errorf("%q: %w", name, gittree.ErrTooLarge)
	}
	return content, err
}

// put makes a path what it is to be, if it is what it was or is so already.
func (c *Clone) put(name string, was, want version) error {
	found, err := c.onDisk(name)
	switch {
	case err != nil:
		return err
	case found == want:
		_ = c.work.Remove(temporary(name))
		return nil
	case found != was:
		return fmt.Errorf("%q: %w", name, ErrInTheWay)
	case want.absent():
		return c.do("remove "+name, func() error { return c.removeFile(name) })
	default:
		return c.writeFile(name, want)
	}
}

// removeFile removes a file, and the folders that become empty, as Git does.
func (c *Clone) removeFile(name string) error {
	if err := c.work.Remove(name); err != nil {
		return err
	}
	// The first that is not empty ends it.
	for dir := path.Dir(name); dir != "." && c.work.Remove(dir) == nil; dir = path.Dir(dir) {
	}
	return nil
}

func temporary(name string) string {
	return path.Join(path.Dir(name), ".polex-"+path.Base(name)+".tmp")
}

// writeFile writes a file through a temporary one beside it, and reads it back.
// The folders on its way are real ones: a link could lead it to a workflow.
func (c *Clone) writeFile(name string, want version) error {
	content, err := c.readBlob(want.Hash)
	if err != nil {
		return err
	}
	err = c.do("write "+temporary(name), func() error {
		if err := makeFolders(c.work, path.Dir(name)); err != nil {
			return err
		}
		_ = c.work.Remove(temporary(name)) // of a run that was cut off
		if want.Mode == filemode.Symlink {
			return c.work.Symlink(string(content), temporary(name))
		}
		permission := fs.FileMode(0o644)
		if want.Mode == filemode.Executable {
			permission = 0o755
		}
		f, err := c.work.OpenFile(temporary(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, permission)
		if err != nil {
			return err
		}
		_, err = f.Write(content)
		return errors.Join(err, f.Sync(), f.Close())
	})
	if err == nil {
		err = c.do("rename "+name, func() error {
			if err := c.work.Rename(temporary(name), name); err != nil {
				return err
			}
			return syncFolder(c.work, path.Dir(name))
		})
	}
	if err != nil {
		_ = c.work.Remove(temporary(name))
		return err
	}
	if want.Mode == filemode.Symlink {
		return nil
	}
	back, err := c.readFile(name)
	if err != nil || !bytes.Equal(back, content) {
		return fmt.Errorf("write %q: it does not read back as it was written: %w", name, errors.Join(err, fs.ErrInvalid))
	}
	return nil
}

func makeFolders(root *os.Root, dir string) error {
	made := ""
	for part := range strings.SplitSeq(dir, "/") {
		made = path.Join(made, part)
		info, err := root.Lstat(made)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := root.Mkdir(made, 0o755); err != nil {
				return err
			}
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%q is not a folder", made)
		}
	}
	return nil
}
