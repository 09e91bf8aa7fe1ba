// Package changed tells which files differ from what a branch or commit had
// where the work began: what a pull request touches. It reads the objects of a
// Git repository and never the network.
package changed

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// Since is a point in history that files are compared with.
type Since struct {
	root string // of the work tree, links resolved
	tree *object.Tree
}

// Open finds the repository that dir lies in and the newest commit that HEAD and
// ref have in common. ref is a branch, a tag or a full commit hash. A clone too
// shallow to have that commit is an error.
func Open(dir, ref string) (*Since, error) {
	root, storage, err := open(dir)
	if err != nil {
		return nil, err
	}
	there, err := commitOf(storage, ref)
	if err != nil {
		return nil, err
	}
	here, err := commitOf(storage, plumbing.HEAD.String())
	if err != nil {
		return nil, err
	}
	common, err := here.MergeBase(there)
	if errors.Is(err, plumbing.ErrObjectNotFound) || err == nil && len(common) == 0 {
		return nil, fmt.Errorf("HEAD and %s have no commit in common here; is the clone shallow?", ref)
	}
	if err != nil {
		return nil, fmt.Errorf("compare HEAD with %s: %w", ref, err)
	}
	tree, err := common[0].Tree()
	if err != nil {
		return nil, fmt.Errorf("read commit %s: %w", common[0].Hash, err)
	}
	return &Since{root: root, tree: tree}, nil
}

// Changed reports whether a file is new or has other bytes than then. A file
// outside of the work tree is always new.
func (s *Since) Changed(path string) (bool, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return false, err
	}
	// Of the folder, since the file may be a link itself.
	folder, err := filepath.EvalSymlinks(filepath.Dir(absolute))
	if err != nil {
		return false, err
	}
	name, err := filepath.Rel(s.root, filepath.Join(folder, filepath.Base(absolute)))
	if err != nil || !filepath.IsLocal(name) {
		return true, nil //nolint:nilerr // not below the root
	}
	entry, err := s.tree.FindEntry(filepath.ToSlash(name))
	if errors.Is(err, object.ErrEntryNotFound) || errors.Is(err, object.ErrDirectoryNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	now, err := blobHash(absolute)
	return now != entry.Hash, err
}

// blobHash returns the hash that Git would give a file.
func blobHash(path string) (plumbing.Hash, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if !info.Mode().IsRegular() {
		return plumbing.ZeroHash, nil
	}
	f, err := os.Open(path) // #nosec G304 -- the user names what is read
	if err != nil {
		return plumbing.ZeroHash, err
	}
	defer f.Close() //nolint:errcheck // only read
	hasher := plumbing.NewHasher(plumbing.BlobObject, info.Size())
	if _, err := io.Copy(hasher, io.LimitReader(f, info.Size())); err != nil {
		return plumbing.ZeroHash, err
	}
	return hasher.Sum(), nil
}

// commitOf resolves a branch, a tag, or a full hash.
func commitOf(storage storer.Storer, ref string) (*object.Commit, error) {
	hash := plumbing.NewHash(ref)
	if !plumbing.IsHash(ref) {
		found := false
		for _, rule := range plumbing.RefRevParseRules {
			reference, err := storer.ResolveReference(storage, plumbing.ReferenceName(fmt.Sprintf(rule, ref)))
			if err == nil {
				hash, found = reference.Hash(), true
				break
			}
			// Not found, or a rule that makes no name of it: the next one may.
		}
		if !found {
			return nil, fmt.Errorf("there is no branch, tag or commit %q here", ref)
		}
	}
	if tag, err := object.GetTag(storage, hash); err == nil {
		hash = tag.Target
	}
	commit, err := object.GetCommit(storage, hash)
	if err != nil {
		return nil, fmt.Errorf("read commit %s of %s: %w", hash, ref, err)
	}
	return commit, nil
}
