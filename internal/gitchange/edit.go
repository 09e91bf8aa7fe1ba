package gitchange

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/polex-dev/polex/internal/gittree"
)

// Change is what a commit does to files. Paths are from the root, with slashes.
type Change struct {
	Write   map[string][]byte // what regular files hold from now on, new ones or those that were there
	Remove  []string          // files that are there
	Message string            // of the commit
}

// Propose says what is to be changed in a tree: that of HEAD, or of whatever the
// remote has by the time that it is pushed. It may be called again and again
// until one of its proposals is accepted. Nothing to write or to remove means
// that there is nothing to do; an error ends the run as it is.
type Propose func(tree *gittree.Tree) (Change, error)

// version is what a path holds: a file, a link, a submodule or, where it is
// zero, nothing.
type version struct {
	Mode filemode.FileMode
	Hash plumbing.Hash
}

func (v version) absent() bool { return v.Hash.IsZero() }

// edit is what becomes of one path.
type edit struct {
	Path     string
	Old, New version
}

// maxPath is the longest path that is written, in bytes.
const maxPath = 1024

// edits writes the new files of a change as objects and returns what they do to
// a tree.
func (c *Clone) edits(tree *gittree.Tree, change Change) ([]edit, error) {
	var edits []edit
	for _, name := range slices.Sorted(maps.Keys(change.Write)) {
		e := edit{Path: name}
		var err error
		if e.Old, err = versionIn(tree, name); err != nil {
			return nil, err
		}
		if e.Old.Mode != filemode.Empty && e.Old.Mode != filemode.Regular && e.Old.Mode != filemode.Executable {
			return nil, fmt.Errorf("write %q: what is there is no regular file", name)
		}
		hash, err := c.writeObject(plumbing.BlobObject, change.Write[name])
		if err != nil {
			return nil, err
		}
		e.New = version{Mode: filemode.Regular, Hash: hash}
		if e.New != e.Old {
			edits = append(edits, e)
		}
	}
	for _, name := range slices.Sorted(slices.Values(change.Remove)) {
		if _, written := change.Write[name]; written {
			return nil, fmt.Errorf("%q is to be written and removed", name)
		}
		old, err := versionIn(tree, name)
		if err != nil {
			return nil, err
		}
		if old.absent() || old.Mode == filemode.Dir {
			return nil, fmt.Errorf("remove %q: there is no such file", name)
		}
		edits = append(edits, edit{Path: name, Old: old})
	}
	return edits, nil
}

// CheckPath refuses a path that no change can be about: one that is not UTF-8, has more than
// 1,024 bytes, or leads to what a file system may take for Git's own files.
func CheckPath(name string) error {
	if !fs.ValidPath(name) || name == "." || len(name) > maxPath || hasGitFolder(name) {
		return fmt.Errorf("%q is no path of a file in the repository", name)
	}
	return nil
}

func versionIn(tree *gittree.Tree, name string) (version, error) {
	if err := CheckPath(name); err != nil {
		return version{}, err
	}
	entry, err := tree.Find(name)
	if errors.Is(err, fs.ErrNotExist) || err != nil && leavesFolders(tree, name) {
		return version{}, nil
	}
	if err != nil {
		return version{}, err
	}
	return version{Mode: entry.Mode, Hash: entry.Hash()}, nil
}

// leavesFolders reports whether something on the way to a path is no folder, so
// that nothing is there.
func leavesFolders(tree *gittree.Tree, name string) bool {
	for i, char := range name {
		if char != '/' {
			continue
		}
		if entry, err := tree.Find(name[:i]); err == nil && entry.Mode != filemode.Dir {
			return true
		}
	}
	return false
}

// hasGitFolder reports whether a path leads into a repository's own files, by
// any of the names that a file system may take for .git.
func hasGitFolder(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(part, ".git") || strings.HasPrefix(strings.ToLower(part), "git~") {
			return true
		}
	}
	return false
}
