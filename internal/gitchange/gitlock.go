package gitchange

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// gitLock is Git's own way to replace a file: who makes NAME.lock, which must
// not exist, may change NAME, writes the new content into NAME.lock and renames
// it over NAME. A lock whose holder was killed stays, and nobody can tell whose
// it was. Therefore this one is a second name (a hard link) of a file in the
// package's own folder: a lock that is the same file as that one is its own.
type gitLock struct {
	clone *Clone
	root  *os.Root
	name  string // what is locked, such as index or refs/heads/main
	mine  string // the other name, below the work tree's Git folder
}

// The package's own names of the locks.
const (
	mineIndex     = folder + "/index"
	mineReference = folder + "/reference"
)

// takeLock locks a file of Git's for as long as [gitLock.release] or
// [gitLock.replace] is not called.
func (c *Clone) takeLock(root *os.Root, name, mine string) (*gitLock, error) {
	if err := c.freeLock(root, name, mine); err != nil {
		return nil, err
	}
	l := &gitLock{clone: c, root: root, name: name, mine: mine}
	err := c.do("lock "+name, func() error {
		f, err := c.own.OpenFile(mine, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		// Of two roots, and os.Root links within one only; both folders are Git's.
		err = os.Link(path.Join(c.own.Name(), mine), path.Join(root.Name(), name+".lock"))
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("another Git process holds %s.lock in the Git folder; if there is none any more, remove that file: %w", name, err)
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(err, l.release())
	}
	return l, nil
}

// freeLock takes away what a run that was cut off has left of a lock. It leaves
// the locks of others.
func (c *Clone) freeLock(root *os.Root, name, mine string) error {
	ours, err := c.own.Lstat(mine)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if held, err := root.Lstat(name + ".lock"); err == nil && os.SameFile(ours, held) {
		if err := root.Remove(name + ".lock"); err != nil {
			return err
		}
	}
	return c.own.Remove(mine)
}

func (l *gitLock) release() error {
	if l == nil {
		return nil
	}
	return l.clone.freeLock(l.root, l.name, l.mine)
}

// replace gives the locked file another content, all of it at once, and unlocks
// it.
func (l *gitLock) replace(content []byte) error {
	err := l.clone.do("write "+l.name+".lock", func() error {
		f, err := l.clone.own.OpenFile(l.mine, os.O_WRONLY|os.O_TRUNC, 0o644)
		if err != nil {
			return err
		}
		_, err = f.Write(content)
		return errors.Join(err, f.Sync(), f.Close())
	})
	if err != nil {
		return err
	}
	err = l.clone.do("replace "+l.name, func() error {
		// An empty folder stays where a branch of a longer name was (Git removes it, too).
		if info, err := l.root.Lstat(l.name); err == nil && info.IsDir() {
			if err := l.root.Remove(l.name); err != nil {
				return err
			}
		}
		if err := l.root.Rename(l.name+".lock", l.name); err != nil {
			return err
		}
		return syncFolder(l.root, path.Dir(l.name))
	})
	if err != nil {
		return err
	}
	return l.clone.own.Remove(l.mine)
}

// syncFolder makes renames in a folder last through a loss of power.
func syncFolder(root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
