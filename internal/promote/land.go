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

// ErrUnpushed says that the local branch has commits that the remote has not and
// that are no promotions: pushing those is not this package's to do.
var ErrUnpushed = errors.New("the local branch has a commit that is not on the remote, and that is no promotion made in this clone")

// ErrWithdrawn says that the target branch does not have a request any more as it was when
// a promotion that was not pushed signed it, or has other rules since.
var ErrWithdrawn = errors.New("the local branch has a promotion that was not pushed, of a request that the target branch does not have any more")

// Land pushes the promotions that the local branch has and the remote has not: of
// a run that was cut off before it pushed, or that was not told to. They are made
// anew, with the same sealed files, where the remote has moved, and only while all that they
// sign is pending there: otherwise it is [ErrWithdrawn]. It returns how many there were.
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

// stillPending proposes what a promotion did where what it signs is still asked for.
func stillPending(clone *commit.Clone, r *commit.Replay, o Options) commit.Propose {
	return func(tree *git.Tree) (commit.Change, error) {
		change, err := r.Propose(tree)
		if err != nil || len(change.Write) == 0 {
			return change, err // nothing is signed by it
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

// isPromotion reports whether a commit is what [Promotion.Commit] makes: it says
// so, and does nothing but take files from one folder and put files into the
// other.
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
