package gitchange

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/internal/gittree"
)

// ErrBranchExists says that a branch is there, and holds something else than what
// was to be put on it.
var ErrBranchExists = errors.New("the branch exists and holds something else")

// Branch commits a change on HEAD's commit as a new branch. HEAD, index and work
// tree stay as they are. A branch that is there and holds all of the change already
// is as it should be: its commit is returned, and no change. Another one is
// [ErrBranchExists], and what is no name of a branch [ErrBranchName].
func (c *Clone) Branch(ctx context.Context, by Author, name string, propose Propose) (result Result, err error) {
	reference := plumbing.NewBranchReferenceName(name)
	if err := CheckBranch(name); err != nil {
		return Result{}, err
	}
	head, err := c.Head()
	if err != nil {
		return Result{}, err
	}
	switch there, err := c.repository.Reference(reference, true); {
	case err == nil:
		holds, err := c.Holds(there.Hash(), propose)
		if err == nil && !holds {
			err = fmt.Errorf("%w: %s", ErrBranchExists, name)
		}
		return Result{Commit: there.Hash()}, err
	case !errors.Is(err, plumbing.ErrReferenceNotFound):
		return Result{}, fmt.Errorf("read %s: %w", reference, err)
	}
	m, err := c.make(ctx, head.Commit, by, propose)
	if err != nil || m.commit.IsZero() {
		return Result{Change: m.change}, err
	}
	lock, err := c.takeLock(c.common, reference.String(), mineReference)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, lock.release()) }()
	// Under the lock, nobody who keeps Git's rules makes it any more.
	if _, err := c.repository.Reference(reference, true); !errors.Is(err, plumbing.ErrReferenceNotFound) {
		return Result{}, errors.Join(err, fmt.Errorf("%w: %s", ErrBranchExists, name))
	}
	return Result{Commit: m.commit, Change: m.change}, lock.replace([]byte(m.commit.String() + "\n"))
}

// ErrBranchName says that a text is not the name of a branch.
var ErrBranchName = errors.New("not the name of a branch")

// CheckBranch refuses what Git would make no branch of, or would take for something else
// on a command line: an option, HEAD, a reference in full.
func CheckBranch(name string) error {
	if name == "HEAD" || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "refs/") || !utf8.ValidString(name) || gittree.CheckRevision(name) != nil {
		return fmt.Errorf("%q: %w", name, ErrBranchName)
	}
	return nil
}

// Holds reports whether a commit has all of a change already.
func (c *Clone) Holds(commit plumbing.Hash, propose Propose) (bool, error) {
	tree, err := c.Tree(commit)
	if err != nil {
		return false, err
	}
	change, err := propose(tree)
	if err != nil {
		return false, err
	}
	edits, err := c.edits(tree, change)
	return len(edits) == 0, err
}

// IsCommitOf reports whether a commit is the one that a change on base makes, but for the
// time at which it was made: parent, tree, author, committer and message are the same, and
// it has no signature. Nothing refers to what is written for the comparison.
func (c *Clone) IsCommitOf(ctx context.Context, commit, base plumbing.Hash, by Author, propose Propose) (bool, error) {
	found, err := c.commit(commit)
	if err != nil {
		return false, err
	}
	by.When, by.Sign = found.Author.When, false
	m, err := c.make(ctx, base, by, propose)
	return err == nil && m.commit == commit, err
}
