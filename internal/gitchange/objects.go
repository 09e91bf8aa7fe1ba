package gitchange

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/objfile"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// writeObject puts an object into the repository. go-git would rename it without
// having it on disk first, and a reference must never name what a loss of power
// takes away.
func (c *Clone) writeObject(kind plumbing.ObjectType, content []byte) (plumbing.Hash, error) {
	hash := plumbing.ComputeHash(kind, content)
	if c.repository.Storer.HasEncodedObject(hash) == nil {
		return hash, nil
	}
	dir := "objects/" + hash.String()[:2]
	name, temporary := dir+"/"+hash.String()[2:], dir+"/"+c.temporaryObject()
	return hash, c.do("write object of type "+kind.String(), func() error {
		if err := c.common.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := c.common.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		f, err := c.common.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
		if err != nil {
			return err
		}
		w := objfile.NewWriter(f)
		err = w.WriteHeader(kind, int64(len(content)))
		if err == nil {
			_, err = w.Write(content)
		}
		if err = errors.Join(err, w.Close(), f.Sync(), f.Close()); err == nil {
			err = c.common.Rename(temporary, name)
		}
		if err != nil {
			_ = c.common.Remove(temporary)
		}
		return err
	})
}

// temporaryObject is the name of an object that is being written. Linked work trees
// share the objects and not the lock of this package, so that each has its own.
func (c *Clone) temporaryObject() string {
	if c.own.Name() == c.common.Name() {
		return "tmp_obj_polex"
	}
	return "tmp_obj_polex-" + filepath.Base(c.own.Name())
}

// readBlob returns the content of a file or a link.
func (c *Clone) readBlob(hash plumbing.Hash) ([]byte, error) {
	blob, err := object.GetBlob(c.repository.Storer, hash)
	if err != nil {
		return nil, fmt.Errorf("read object %s: %w", hash, err)
	}
	in, err := blob.Reader()
	if err != nil {
		return nil, fmt.Errorf("read object %s: %w", hash, err)
	}
	defer in.Close() //nolint:errcheck // only read
	content, err := io.ReadAll(in)
	if err == nil && plumbing.ComputeHash(plumbing.BlobObject, content) != hash {
		err = errors.New("the repository is damaged: its content is another")
	}
	if err != nil {
		return nil, fmt.Errorf("read object %s: %w", hash, err)
	}
	return content, nil
}

// writeTree writes the tree that comes of edits to another. Only the trees on
// the way to what is edited are read and written.
func (c *Clone) writeTree(base plumbing.Hash, edits []edit) (plumbing.Hash, error) {
	var entries []object.TreeEntry
	if !base.IsZero() {
		tree, err := object.GetTree(c.repository.Storer, base)
		if err != nil {
			return plumbing.ZeroHash, fmt.Errorf("read tree %s: %w", base, err)
		}
		entries = slices.Clone(tree.Entries)
	}
	set := func(name string, to version) {
		entries = slices.DeleteFunc(entries, func(e object.TreeEntry) bool { return e.Name == name })
		if !to.absent() {
			entries = append(entries, object.TreeEntry{Name: name, Mode: to.Mode, Hash: to.Hash})
		}
	}
	below := map[string][]edit{}
	for _, e := range edits {
		if dir, rest, deeper := strings.Cut(e.Path, "/"); deeper {
			below[dir] = append(below[dir], edit{Path: rest, New: e.New})
		} else {
			set(e.Path, e.New)
		}
	}
	for dir, edits := range below {
		i := slices.IndexFunc(entries, func(e object.TreeEntry) bool { return e.Name == dir })
		was := plumbing.ZeroHash
		if i >= 0 && entries[i].Mode == filemode.Dir {
			was = entries[i].Hash
		}
		hash, err := c.writeTree(was, edits)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if i >= 0 && entries[i].Mode != filemode.Dir && !hash.IsZero() {
			return plumbing.ZeroHash, fmt.Errorf("%q is no folder", dir)
		}
		if i < 0 || entries[i].Mode == filemode.Dir {
			set(dir, version{Mode: filemode.Dir, Hash: hash})
		}
	}
	if len(entries) == 0 {
		return plumbing.ZeroHash, nil // Git knows no empty folders
	}
	sort.Sort(object.TreeEntrySorter(entries))
	return c.writeObject(plumbing.TreeObject, encodeTree(entries))
}

func encodeTree(entries []object.TreeEntry) []byte {
	var content []byte
	for _, e := range entries {
		content = fmt.Appendf(content, "%o %s\x00", e.Mode, e.Name)
		content = append(content, e.Hash[:]...)
	}
	return content
}
