package commit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/polex-dev/polex/internal/git"
)

// ErrBranchName means that a text is not a branch name.
var ErrBranchName = errors.New("not the name of a branch")

// CheckBranch rejects names that Git does not allow for a branch or reads as something else on a
// command line: an option, HEAD, or a full reference.
func CheckBranch(name string) error {
	if name == "HEAD" || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "refs/") || !utf8.ValidString(name) ||
		git.CheckRevision(name) != nil {
		return fmt.Errorf("%q: %w", name, ErrBranchName)
	}
	return nil
}

// IsCommitOf reports whether a commit is equal to the commit of a change on base, except for its
// time: parent, tree, author, committer and message are equal, and it has no signature. The
// comparison writes objects that no reference uses.
func (c *Clone) IsCommitOf(ctx context.Context, commit, base git.Hash, by Author, propose Propose) (bool, error) {
	found, err := c.Repository.Commit(commit)
	if err != nil {
		return false, err
	}
	by.When, by.Sign = found.Author.Local(), false
	m, err := c.make(ctx, base, by, propose)
	return err == nil && m.commit == commit, err
}
