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

// ErrBranchExists means that a branch exists and does not contain the change.
var ErrBranchExists = errors.New("the branch exists with different content")

// Branch commits a change on top of HEAD as a new branch. HEAD, index and work tree stay unchanged.
// If the branch exists and already contains the whole change, Branch returns its commit and no
// change. Otherwise it returns [ErrBranchExists], and [ErrBranchName] for an invalid name.
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
	// Git creates it only if it does not exist: another process may have created it.
	if _, err := c.write(ctx, "make "+reference.String(), call{env: named(m.by)},
		"update-ref", "--no-deref", "--", reference.String(), m.commit.String(), plumbing.ZeroHash.String()); err != nil {
		return Result{}, err
	}
	return Result{Commit: m.commit, Change: m.change}, nil
}

// ErrBranchName means that a text is not a branch name.
var ErrBranchName = errors.New("not the name of a branch")

// CheckBranch rejects names that Git does not allow for a branch or reads as something else on a
// command line: an option, HEAD, or a full reference.
func CheckBranch(name string) error {
	if name == "HEAD" || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "refs/") || !utf8.ValidString(name) || git.CheckRevision(name) != nil {
		return fmt.Errorf("%q: %w", name, ErrBranchName)
	}
	return nil
}

// Holds reports whether a commit already contains a whole change.
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

// IsCommitOf reports whether a commit is equal to the commit of a change on base, except for its
// time: parent, tree, author, committer and message are equal, and it has no signature. The
// comparison writes objects that no reference uses.
func (c *Clone) IsCommitOf(ctx context.Context, commit, base plumbing.Hash, by Author, propose Propose) (bool, error) {
	found, err := c.Repository.Commit(commit)
	if err != nil {
		return false, err
	}
	by.When, by.Sign = found.Author.Local(), false
	m, err := c.make(ctx, base, by, propose)
	return err == nil && m.commit == commit, err
}
