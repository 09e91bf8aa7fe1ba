package commit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	githash "github.com/go-git/go-git/v5/plumbing/hash"

	"github.com/polex-dev/polex/internal/git"
)

// Git replaces the index like this: the process that creates index.lock may replace the index, and
// creation fails if the file exists. If that process is killed, the lock stays, and nothing shows
// its owner. This lock is therefore a hard link to a file in the package's own folder: a lock that
// is the same file is its own.
const (
	index     = "index"
	indexLock = "index.lock"
	mineLock  = folder + "/mine"
	copied    = folder + "/index" // Git works on this copy and locks it itself
)

// locked calls change while the index is locked.
func (c *Clone) locked(change func() error) (err error) {
	if err := c.freeIndex(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.freeIndex()) }()
	if err := c.do("lock the index", func() error {
		f, err := c.own.OpenFile(mineLock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			err = f.Close()
		}
		if err == nil {
			err = c.own.Link(mineLock, indexLock)
		}
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("another Git process holds %s in the Git folder; if there is none any more, remove that file", indexLock)
		}
		return err
	}); err != nil {
		return err
	}
	return change()
}

// freeIndex releases the index lock of this run or of an interrupted run. It leaves the locks of
// other processes.
func (c *Clone) freeIndex() error {
	if mine, err := c.own.Lstat(mineLock); err == nil {
		if held, err := c.own.Lstat(indexLock); err == nil && os.SameFile(mine, held) {
			if err := c.own.Remove(indexLock); err != nil {
				return err
			}
		}
	}
	var errs []error
	for _, name := range []string{copied, copied + ".lock", mineLock} {
		if err := c.own.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// copyIndex creates the copy for Git. It rejects a damaged index, because Git would misread it and
// write half of it to the work tree.
func (c *Clone) copyIndex() error {
	return c.do("copy the index", func() error {
		content, err := c.own.ReadFile(index)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := checkIndex(content); err != nil {
			return err
		}
		// Git compares this time with the files to find those that it must read again.
		info, err := c.own.Stat(index)
		if err != nil {
			return err
		}
		return errors.Join(c.own.WriteFile(copied, content, 0o644), c.own.Chtimes(copied, info.ModTime(), info.ModTime()))
	})
}

// checkIndex rejects a truncated or damaged index (gitformat-index): its checksum differs, or it is
// too short for its number of entries.
func checkIndex(content []byte) error {
	const header, smallest = 12, 62
	if end := len(content) - githash.Size; end >= header {
		sum := githash.New(githash.CryptoType)
		_, _ = sum.Write(content[:end])
		// With index.skipHash, Git writes zeros.
		whole := bytes.Equal(content[end:], sum.Sum(nil)) || bytes.Equal(content[end:], make([]byte, githash.Size))
		if whole && int64(binary.BigEndian.Uint32(content[8:]))*smallest <= int64(len(content)) {
			return nil
		}
	}
	return errors.New("the index is malformed: remove it and run git reset")
}

// replaceIndex replaces the index with the copy.
func (c *Clone) replaceIndex() error {
	return c.do("replace the index", func() error {
		if err := c.own.Rename(copied, index); err != nil {
			return err
		}
		return syncFolder(c.own, ".")
	})
}

// onCopy makes Git use the copy.
func (c *Clone) onCopy(how call) call {
	how.env = append(how.env, "GIT_INDEX_FILE="+path.Join(c.own.Name(), copied), "GIT_LITERAL_PATHSPECS=1")
	return how
}

// staged returns the entries of the index copy that differ from a commit.
func (c *Clone) staged(than plumbing.Hash) (map[string]git.Entry, error) {
	out, err := c.ask(c.onCopy(call{}), "diff-index", "--cached", "--raw", "--abbrev=40", "--no-renames", "--ignore-submodules=none", "-z", than.String(), "--")
	if err != nil {
		return nil, fmt.Errorf("read index: %w", err)
	}
	staged := map[string]git.Entry{}
	for said := strings.Split(out, "\x00"); len(said) >= 2; said = said[2:] {
		// ":100644 100755 <hash> <hash> M"
		fields, name := strings.Fields(said[0]), said[1]
		if len(fields) != 5 || !plumbing.IsHash(fields[3]) {
			return nil, fmt.Errorf("read index: git diff-index answered %q", said[0])
		}
		if fields[4] == "U" {
			return nil, fmt.Errorf("%q is in the middle of a merge", name)
		}
		mode, err := filemode.New(fields[1])
		if err != nil {
			return nil, fmt.Errorf("read index: %w", err)
		}
		staged[name] = git.Entry{}
		if fields[4] != "D" {
			staged[name] = git.NewEntry(name, mode, plumbing.NewHash(fields[3]))
		}
	}
	return staged, nil
}

// syncFolder writes a folder to disk, so that renames survive a power failure.
func syncFolder(root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
