package deliver

import (
	"context"
	"fmt"

	"github.com/polex-dev/polex/internal/git/commit"
)

// Way is where a change goes.
type Way int

// The ways. The zero value commits nothing.
const (
	WorkTree Way = iota // files of the work tree change, and the caller commits
	Commit              // a commit on HEAD
	Push                // a commit on the branch of a remote, pushed to it
)

// To says where a change goes, and who commits it.
type To struct {
	Way  Way
	By   commit.Author // not for [WorkTree]
	Push commit.Push   // for [Push] alone
}

// Remote is the branch that is pushed to.
func (t To) Remote() commit.Remote {
	to := t.Push.To
	if t.Push.As != "" {
		to.Branch = t.Push.As
	}
	return to
}

// Make makes a change. propose is given who signs the commit off, or "" where there is no
// commit. The errors are those of [commit.Clone].
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

// SignedOffBy returns an author as a commit's message names them: Name <address>.
func SignedOffBy(clone *commit.Clone, by commit.Author) (string, error) {
	author, err := clone.Signature(by)
	return fmt.Sprintf("%s <%s>", author.Name, author.Email), err
}
