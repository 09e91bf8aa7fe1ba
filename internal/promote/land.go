package promote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promote/commitmessage"
)

// ErrUnpushed means that the local branch has an unpushed commit that is not a promotion. This
// package does not push such a commit.
var ErrUnpushed = errors.New("the local branch has a commit that is not on the remote, and is not a promotion of this clone")

// ErrWithdrawn means that an unpushed promotion signs a request that the target branch does not
// have any more in this form, or that the rules of the target branch have changed since.
var ErrWithdrawn = errors.New("the local branch has an unpushed promotion of a request that is no longer on the target branch")

// Land pushes the promotions that an earlier run committed locally and did not push, for example
// because it was interrupted. If the remote has moved, Land makes the commits again on top of it,
// with the same signed files. It returns [ErrWithdrawn] if one of the requests is not pending on
// the remote any more. It returns the number of pushed promotions.
func Land(ctx context.Context, clone *commit.Clone, o Options, push commit.Push, sign bool) (int, error) {
	if err := checkFolders(&o); err != nil {
		return 0, err
	}
	tip, err := clone.Fetch(ctx, push.To)
	if err != nil {
		return 0, err
	}
	unpushed, err := clone.Unpushed(tip)
	if err != nil {
		return 0, err
	}
	replays := make([]*commit.Replay, len(unpushed))
	for i, commit := range unpushed {
		if replays[i], err = clone.Replay(commit); err != nil {
			return 0, err
		}
		here, err := clone.MadeHere(commit)
		if err != nil {
			return 0, err
		}
		if !here || !isPromotion(replays[i], o) {
			return 0, fmt.Errorf("%w: %s", ErrUnpushed, commit)
		}
	}
	for i, replay := range replays {
		one := push
		one.Stay, one.Instead = i < len(replays)-1, unpushed[len(unpushed)-1]
		replay.Author.Sign = sign
		if _, err := clone.Push(ctx, replay.Author, one, stillPending(clone, replay, o)); err != nil {
			return i, fmt.Errorf("push the promotion %s: %w", unpushed[i], err)
		}
	}
	return len(replays), nil
}

// stillPending proposes the change of a promotion again, if its requests are still pending.
func stillPending(clone *commit.Clone, r *commit.Replay, o Options) commit.Propose {
	return func(tree *git.Tree) (commit.Change, error) {
		change, err := r.Propose(tree)
		if err != nil || len(change.Write) == 0 {
			return change, err // it signs nothing
		}
		requests := slices.DeleteFunc(slices.Clone(r.Removed), func(name string) bool { return !strings.HasPrefix(name, o.Unsigned+"/") })
		then, err := clone.Origins(r.Parent, requests)
		if err != nil {
			return change, err
		}
		now, err := clone.Origins(plumbing.NewHash(tree.Commit()), requests)
		if err != nil {
			return change, err
		}
		for _, name := range requests {
			if !slices.Contains(change.Remove, name) || now[name].Commit != then[name].Commit {
				return change, fmt.Errorf("%w: %s", ErrWithdrawn, name)
			}
		}
		before, err := clone.Tree(r.Parent)
		if err != nil {
			return change, err
		}
		if rule, err := o.changedRule(before, tree); err != nil || rule != "" {
			return change, errors.Join(err, fmt.Errorf("%w: %s has changed since", ErrWithdrawn, rule))
		}
		return change, nil
	}
}

// isPromotion reports whether a commit has the form of [Promotion.Commit]: it has the trailer,
// writes files only under signed/, and removes files only under the two folders.
func isPromotion(r *commit.Replay, o Options) bool {
	if !strings.Contains(r.Message, "\n"+commitmessage.Source+": ") || len(r.Written) == 0 {
		return false
	}
	for _, name := range r.Written {
		if !strings.HasPrefix(name, o.Signed+"/") {
			return false
		}
	}
	for _, name := range r.Removed {
		if !strings.HasPrefix(name, o.Signed+"/") && !strings.HasPrefix(name, o.Unsigned+"/") {
			return false
		}
	}
	return true
}
