package promotion

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion/deliver"
	"github.com/polex-dev/polex/pkg/exception"
)

// deliver is the third step: one commit of the signed documents, or a folder of them. If the target branch
// has moved, it plans again with the same signed documents.
func (r *run) deliver(ctx context.Context, signed *Signed) error {
	signed.check = r.checkAgain
	done, err := signed.Make(ctx, r.To)
	if err == nil {
		r.made(done)
	}
	return err
}

// Done is the result of a promotion.
type Done struct {
	Moves   []*Move
	Skipped []Skip
	// Refused are the files that were signed and then rejected because the remote has moved, with
	// [Options.KeepGoing].
	Refused exception.Refusals
	Commit  git.Hash // zero if nothing was committed
	// Left is the reason if the work tree was unexpectedly not updated.
	Left string
}

// Make delivers the signed documents.
func (p *Signed) Make(ctx context.Context, to deliver.To) (*Done, error) {
	if to.Way == deliver.Folder {
		return &Done{Moves: p.Moves()}, p.HandOver(to.Folder)
	}
	if head, err := p.queue.clone.Head(); err != nil || to.Way == deliver.Commit && head.Branch != p.queue.head.Branch {
		return nil, errors.Join(err, fmt.Errorf("%w (it was on %s when polex-sign read it)", commit.ErrMoved,
			p.queue.head.Branch))
	}
	done := &Done{}
	result, err := to.Make(ctx, p.queue.clone,
		func(signedOffBy string) commit.Propose { return p.propose(done, signedOffBy) })
	done.Commit, done.Left = result.Commit, result.Left
	return done, err
}

// propose makes the plan again on the given tree and fills in the signed documents. It returns an
// error if the replaced files differ from those at the signing.
func (p *Signed) propose(done *Done, signedOffBy string) commit.Propose {
	return func(tree *git.Tree) (commit.Change, error) {
		plan, err := p.queue.plan(tree)
		if err == nil && p.check != nil {
			err = p.check(plan)
		}
		if err != nil {
			return commit.Change{}, err
		}
		for i, s := range plan.Skipped {
			if p.moves[s.File] != nil {
				plan.Skipped[i].Signed, plan.Skipped[i].Message = true, "this run signed it, but "+s.Message
			}
		}
		done.Moves, done.Skipped = nil, plan.Skipped
		done.Refused = plan.refusedOf(func(file string) bool { return p.moves[file] != nil })
		change := commit.Change{Write: map[string][]byte{}}
		for _, now := range plan.Moves {
			move, known := p.moves[now.From]
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
			done.Moves = append(done.Moves, move)
		}
		// Remove a file once, even if several files replace it. Keep a file that is overwritten.
		gone := map[string]bool{}
		for _, m := range done.Moves {
			for _, r := range m.Replaces {
				if _, written := change.Write[r.Path]; !written && !gone[r.Path] {
					gone[r.Path] = true
					change.Remove = append(change.Remove, r.Path)
				}
			}
		}
		change.Message = p.message(done.Moves, signedOffBy)
		return change, nil
	}
}

// made records the result of a promotion. Files that were skipped before the signing stay skipped.
func (r *run) made(done *Done) {
	for _, s := range r.result.Skipped {
		if !slices.ContainsFunc(done.Skipped, func(o Skip) bool { return o.File == s.File }) {
			done.Skipped = append(done.Skipped, s)
		}
	}
	r.leaveOut(Refused(done.Refused))
	r.result.Done, r.result.Documents = *done, 0
	for _, m := range done.Moves {
		r.result.Documents += len(m.Documents)
	}
	if r.To.Pushes() {
		r.result.To = r.To.Remote()
	}
}
