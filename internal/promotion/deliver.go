package promotion

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion/deliver"
)

// deliver is the third step: one commit of the signed files, or a folder of them. If the target branch
// has moved, it plans again with the same signed files.
func (r *run) deliver(ctx context.Context, signed signedFiles) error {
	if r.To.Way == deliver.Folder {
		moves, err := r.handOver(signed)
		if err == nil {
			r.promoted(moves, nil)
		}
		return err
	}
	if head, err := r.Clone.Head(); err != nil || r.To.Way == deliver.Commit && head.Branch != r.head.Branch {
		return errors.Join(err, fmt.Errorf("%w (it was on %s when polex-sign read it)", commit.ErrMoved,
			r.head.Branch))
	}
	var made Result
	done, err := r.To.Make(ctx, r.Clone,
		func(signedOffBy string) commit.Propose { return r.propose(signed, signedOffBy, &made) })
	if err == nil {
		r.result.Commit, r.result.Left = done.Commit, done.Left
		r.promoted(made.Moves, made.Skipped)
	}
	return err
}

// propose makes the plan again on the given tree and fills in the signed files. It sets the moves and the
// skipped files of a result. It returns an error if the replaced files differ from those at the signing.
func (r *run) propose(signed signedFiles, signedOffBy string, made *Result) commit.Propose {
	return func(tree *git.Tree) (commit.Change, error) {
		plan, err := r.planAgain(tree)
		if err != nil {
			return commit.Change{}, err
		}
		for i, s := range plan.Skipped {
			if signed[s.File] != nil {
				plan.Skipped[i].Signed, plan.Skipped[i].Message = true, "this run signed it, but "+s.Message
			}
		}
		made.Moves, made.Skipped = nil, plan.Skipped
		change := commit.Change{Write: map[string][]byte{}}
		for _, now := range plan.Moves {
			move, known := signed[now.From]
			if !known {
				continue // it became pending after the signing
			}
			if !slices.EqualFunc(now.Replaces, move.Replaces,
				func(a, b Replaced) bool { return a.Path == b.Path && a.blob == b.blob }) {
				return commit.Change{}, fmt.Errorf(
					"the file that %s replaces has changed since it was signed: run it again", now.From)
			}
			change.Write[now.To] = move.signed
			change.Remove = append(change.Remove, now.From)
			made.Moves = append(made.Moves, move)
		}
		// Remove a file once, even if several files replace it. Keep a file that is overwritten.
		gone := map[string]bool{}
		for _, m := range made.Moves {
			for _, r := range m.Replaces {
				if _, written := change.Write[r.Path]; !written && !gone[r.Path] {
					gone[r.Path] = true
					change.Remove = append(change.Remove, r.Path)
				}
			}
		}
		change.Message = r.message(made.Moves, signedOffBy)
		return change, nil
	}
}

// promoted records the result of a promotion. Files that were skipped before the signing stay skipped.
func (r *run) promoted(moves []*Move, skipped []Skip) {
	for _, s := range r.result.Skipped {
		if !slices.ContainsFunc(skipped, func(o Skip) bool { return o.File == s.File }) {
			skipped = append(skipped, s)
		}
	}
	r.result.Moves, r.result.Skipped, r.result.Documents = moves, skipped, 0
	for _, m := range moves {
		r.result.Documents += len(m.Documents)
	}
	if r.To.Pushes() {
		r.result.To = r.To.Remote()
	}
}
