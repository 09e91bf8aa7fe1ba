package deliver

import (
	"context"
	"fmt"

	"github.com/polex-dev/polex/internal/git/commit"
)

// Way is the destination of a change.
type Way int

// The ways. The zero value commits nothing.
const (
	WorkTree Way = iota // change files in the work tree; the caller commits
	Commit              // a commit on HEAD
	Push                // a commit that is pushed to a branch of a remote
)

// To is the destination of a change and the author of its commit.
type To struct {
	Way  Way
	By   commit.Author // not used for [WorkTree]
	Push commit.Push   // used only for [Push]
}

// Remote returns the branch to push to.
func (t To) Remote() commit.Remote {
	to := t.Push.To
	if t.Push.As != "" {
		to.Branch = t.Push.As
	}
	return to
}

// Make makes a change. It passes the text for Signed-off-by to propose, or "" without a commit. Its
// errors are those of [commit.Clone].
func (t To) Make(ctx context.Context, clone *commit.Clone, propose func(signedOffBy string) commit.Propose) (commit.Result, error) {
	if t.Way == WorkTree {
		return clone.Apply(propose(""))
	}
	by, err := SignedOffBy(clone, t.By)
	switch {
	case err != nil:
		return commit.Result{}, err
	case t.Way == Push:
		return clone.Push(ctx, t.By, t.Push, propose(by))
	default:
		return clone.Commit(ctx, t.By, propose(by))
	}
}

// SignedOffBy returns an author in the form of a commit message: Name <address>.
func SignedOffBy(clone *commit.Clone, by commit.Author) (string, error) {
	author, err := clone.Signature(by)
	return fmt.Sprintf("%s <%s>", author.Name, author.Email), err
}
