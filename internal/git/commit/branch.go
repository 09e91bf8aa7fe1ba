package commit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/internal/git"
)

// ErrBranchExists says that a branch is there, and holds something else than what
// was to be put on it.
var ErrBranchExists = errors.New("the branch exists and holds something else")

// Branch commits a change on HEAD's commit as a new branch. HEAD, index and work
// tree stay as they are. A branch that is there and holds all of the change already
// is as it should be: its commit is returned, and no change. Another one is
// [ErrBranchExists], and what is no name of a branch [ErrBranchName].
func (c *Clone) Branch(ctx context.Context, by Author, name string, propose Propose) (Result, error) {
	reference := plumbing.NewBranchReferenceName(name)
	if err := CheckBranch(name); err != nil {
		return Result{}, err
	}
	head, err := c.Head()
	if err != nil {
		return Result{}, err
	}
	switch there, err := c.Reference(reference); {
	case err == nil:
		holds, err := c.Holds(there, propose)
		if err == nil && !holds {
			err = fmt.Errorf("%w: %s", ErrBranchExists, name)
		}
		return Result{Commit: there}, err
	case !errors.Is(err, fs.ErrNotExist):
		return Result{}, err
	}
	m, err := c.make(ctx, head.Commit, by, propose)
	if err != nil || m.commit.IsZero() {
		return Result{Change: m.change}, err
	}
	// Git makes it only if nobody else has made it meanwhile.
	if _, err := c.write(ctx, "make "+reference.String(), call{env: named(m.by)},
		"update-ref", "--no-deref", "--", reference.String(), m.commit.String(), plumbing.ZeroHash.String()); err != nil {
		return Result{}, err
	}
	return Result{Commit: m.commit, Change: m.change}, nil
}

// ErrBranchName says that a text is not the name of a branch.
var ErrBranchName = errors.New("not the name of a branch")

// CheckBranch refuses what Git would make no branch of, or would take for something else
// on a command line: an option, HEAD, a reference in full.
func CheckBranch(name string) error {
	if name == "HEAD" || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "refs/") || !utf8.ValidString(name) || git.CheckRevision(name) != nil {
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
	left, err := effect(tree, change)
	return left.empty(), err
}

// IsCommitOf reports whether a commit is the one that a change on base makes, but for the
// time at which it was made: parent, tree, author, committer and message are the same, and
// it has no signature. Nothing refers to what is written for the comparison.
func (c *Clone) IsCommitOf(ctx context.Context, commit, base plumbing.Hash, by Author, propose Propose) (bool, error) {
	found, err := c.Repository.Commit(commit)
	if err != nil {
		return false, err
	}
	by.When, by.Sign = found.Author.Local(), false
	m, err := c.make(ctx, base, by, propose)
	return err == nil && m.commit == commit, err
}
