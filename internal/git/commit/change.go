package commit

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/git"
)

// Change describes the files of one commit. Paths are from the root, with slashes.
type Change struct {
	Write   map[string][]byte // new content of new or existing regular files
	Remove  []string          // existing files
	Message string            // of the commit
}

// Propose returns the change for a tree: the tree of HEAD, or the tree of the remote branch at the
// time of a push. It may be called several times until a push succeeds. An empty change means that
// there is nothing to do. An error stops the run.
type Propose func(tree *git.Tree) (Change, error)

// maxPath is the maximum length of a written path, in bytes.
const maxPath = 1024

// effect returns the part of a change that a tree does not contain yet.
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
		if old.Mode != git.Regular || old.Hash() != git.HashOf(git.KindBlob, change.Write[name]) {
			left.Write[name] = change.Write[name]
		}
		for i, char := range name {
			if char != '/' {
				continue
			}
			if above, err := tree.At(name[:i]); err != nil || !above.Absent() && above.Mode != git.Dir {
				return left, fmt.Errorf("write %q: %q is not a folder", name, name[:i])
			}
		}
	}
	for _, name := range slices.Sorted(slices.Values(change.Remove)) {
		if _, written := change.Write[name]; written {
			return left, fmt.Errorf("%q would be written and removed", name)
		}
		old, err := at(tree, name)
		if err != nil {
			return left, err
		}
		if old.Absent() || old.Mode == git.Dir {
			return left, fmt.Errorf("remove %q: there is no such file", name)
		}
		left.Remove = append(left.Remove, name)
	}
	return left, nil
}

func (c *Change) empty() bool { return len(c.Write)+len(c.Remove) == 0 }

// CheckPath rejects a path that is not UTF-8, has more than 1,024 bytes, or leads to a name that a
// file system may treat as Git's own files.
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

// hasGitFolder reports whether a path contains .git or another name that a file system may treat as
// .git.
func hasGitFolder(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(part, ".git") || strings.HasPrefix(strings.ToLower(part), "git~") {
			return true
		}
	}
	return false
}
