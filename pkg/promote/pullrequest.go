package promote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/pkg/gitchange"
	"github.com/polex-dev/polex/pkg/promote/trailer"
)

// ErrBranchTaken says that the branch for a pull request is there, and holds
// something else than this promotion.
var ErrBranchTaken = errors.New("the branch for the pull request exists and holds something else")

// PullRequestBranch is the name of the branch that a promotion is pushed to for a
// pull request when no other is chosen.
func (q *Queue) PullRequestBranch() string { return "polex/signed-" + q.source.String()[:12] }

// OnBranch reports whether a branch of a remote holds this very plan already, as
// one commit on a commit that the clone knows: who runs twice need not sign twice.
// A branch that holds anything else is [ErrBranchTaken].
func (p *Plan) OnBranch(ctx context.Context, branch gitchange.Remote) (plumbing.Hash, bool, error) {
	_, there, err := p.queue.clone.Ask(ctx, branch)
	if err != nil || !there {
		return plumbing.ZeroHash, false, err
	}
	tip, err := p.queue.clone.Fetch(ctx, branch)
	if err != nil {
		return tip, false, err
	}
	replay, err := p.queue.clone.Replay(tip)
	if err != nil {
		return tip, false, fmt.Errorf("%s: %w: %w", branch, ErrBranchTaken, err)
	}
	var written, removed []string
	for _, m := range p.Moves {
		written, removed = append(written, m.To), append(removed, m.From)
		for _, r := range m.Replaces {
			removed = append(removed, r.Path)
		}
	}
	slices.Sort(written)
	slices.Sort(removed)
	removed = slices.DeleteFunc(slices.Compact(removed), func(name string) bool { return slices.Contains(written, name) })
	if !slices.Equal(replay.Written, written) || !slices.Equal(replay.Removed, removed) ||
		!strings.Contains(replay.Message, "\n"+trailer.Source+": "+p.queue.source.String()+"\n") {
		return tip, false, fmt.Errorf("%s: %w", branch, ErrBranchTaken)
	}
	return tip, true, nil
}
