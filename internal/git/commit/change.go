package commit

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/polex-dev/polex/internal/git"
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
type Propose func(tree *git.Tree) (Change, error)

// maxPath is the longest path that is written, in bytes.
const maxPath = 1024

// effect is what of a change a tree does not have yet.
func effect(tree *git.Tree, change Change) (Change, error) {
	left := Change{Write: map[string][]byte{}, Message: change.Message}
	for _, name := range slices.Sorted(maps.Keys(change.Write)) {
		old, err := at(tree, name)
		if err != nil {
			return left, err
		}
		if !old.Absent() && !old.IsFile() {
			return left, fmt.Errorf("write %q: it exists and is not a regular file", name)
		}
		if old.Mode != filemode.Regular || old.Hash() != plumbing.ComputeHash(plumbing.BlobObject, change.Write[name]) {
			left.Write[name] = change.Write[name]
		}
		for i, char := range name {
			if char != '/' {
				continue
			}
			if above, err := tree.At(name[:i]); err != nil || !above.Absent() && above.Mode != filemode.Dir {
				return left, fmt.Errorf("write %q: %q is no folder", name, name[:i])
			}
		}
	}
	for _, name := range slices.Sorted(slices.Values(change.Remove)) {
		if _, written := change.Write[name]; written {
			return left, fmt.Errorf("%q is to be written and removed", name)
		}
		old, err := at(tree, name)
		if err != nil {
			return left, err
		}
		if old.Absent() || old.Mode == filemode.Dir {
			return left, fmt.Errorf("remove %q: there is no such file", name)
		}
		left.Remove = append(left.Remove, name)
	}
	return left, nil
}

func (c *Change) empty() bool { return len(c.Write)+len(c.Remove) == 0 }

// CheckPath refuses a path that no change can be about: one that is not UTF-8, has more than
// 1,024 bytes, or leads to what a file system may take for Git's own files.
func CheckPath(name string) error {
	if !fs.ValidPath(name) || name == "." || len(name) > maxPath || hasGitFolder(name) {
		return fmt.Errorf("%q is no path of a file in the repository", name)
	}
	return nil
}

func at(tree *git.Tree, name string) (git.Entry, error) {
	if err := CheckPath(name); err != nil {
		return git.Entry{}, err
	}
	return tree.At(name)
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
