package commit

import (
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/polex-dev/polex/internal/git"
)

// Unpushed returns the commits of HEAD that another commit does not contain, oldest first. A merge
// among them is [git.ErrMerge].
func (c *Clone) Unpushed(tip plumbing.Hash) ([]plumbing.Hash, error) {
	head, err := c.Head()
	if err != nil {
		return nil, err
	}
	return c.Between(tip, head.Commit)
}

// Replay is the change of a commit, to repeat it on another tree.
type Replay struct {
	Author  Author
	Message string
	Parent  plumbing.Hash
	Written []string // paths, in order
	Removed []string

	clone *Clone
	edits []git.Change
}

// Replay returns the change of a commit with one parent.
func (c *Clone) Replay(hash plumbing.Hash) (*Replay, error) {
	commit, err := c.Repository.Commit(hash)
	if err != nil {
		return nil, err
	}
	if len(commit.Parents) != 1 {
		return nil, fmt.Errorf("commit %s: %w", hash, git.ErrMerge)
	}
	r := &Replay{clone: c, Message: commit.Message, Parent: commit.Parents[0], Author: Author{Name: commit.Author.Name, Email: commit.Author.Email, When: commit.Author.Local()}}
	if r.edits, err = c.difference(commit.Parents[0], hash); err != nil {
		return nil, err
	}
	for _, e := range r.edits {
		if e.New.Absent() {
			r.Removed = append(r.Removed, e.Path)
		} else {
			r.Written = append(r.Written, e.Path)
		}
	}
	slices.Sort(r.Removed)
	slices.Sort(r.Written)
	return r, nil
}

// Propose returns the same change for a tree. A path that has neither the version before nor the
// version after the commit is an error.
func (r *Replay) Propose(tree *git.Tree) (Change, error) {
	change := Change{Write: map[string][]byte{}, Message: r.Message}
	for _, e := range r.edits {
		found, err := at(tree, e.Path)
		switch {
		case err != nil:
			return Change{}, err
		case found == e.New:
			continue
		case found != e.Old:
			return Change{}, fmt.Errorf("%q was changed by others since", e.Path)
		case e.New.Absent():
			change.Remove = append(change.Remove, e.Path)
			continue
		case e.New.Mode != filemode.Regular:
			return Change{}, fmt.Errorf("%q is no regular file", e.Path)
		}
		if change.Write[e.Path], err = r.clone.Blob(e.New.Hash()); err != nil {
			return Change{}, err
		}
	}
	return change, nil
}
