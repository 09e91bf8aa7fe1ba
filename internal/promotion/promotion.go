package promotion

import (
	"context"
	"errors"
	"fmt"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion/commitmessage"
	"github.com/polex-dev/polex/internal/promotion/deliver"
	"github.com/polex-dev/polex/pkg/exception"
)

// Promotion is a plan with signed documents.
type Promotion struct {
	queue *Queue
	moves map[string]*Move // by pending file
	// check examines each new plan, because a later merge can make a signed document invalid. It
	// may be nil.
	check func(*Plan) error
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

// Seal makes a promotion. signed has the signed form of each of [Plan.Documents], in the same
// order.
func (p *Plan) Seal(signed []*exception.Document) (*Promotion, error) {
	promotion := p.promotion()
	if err := promotion.add(p.Moves, signed); err != nil {
		return nil, err
	}
	return promotion, nil
}

// promotion returns a promotion of no file yet.
func (p *Plan) promotion() *Promotion { return &Promotion{queue: p.queue, moves: map[string]*Move{}} }

// add adds the signed documents of moves, in the same order. It keeps only the bytes of the signed
// files: a signed document takes more than twice as much memory.
func (p *Promotion) add(moves []*Move, signed []*exception.Document) error {
	wanted := 0
	for _, m := range moves {
		wanted += len(m.Documents)
	}
	if len(signed) != wanted {
		return fmt.Errorf("%d of %d documents were signed", len(signed), wanted)
	}
	for _, m := range moves {
		own := signed[:len(m.Documents)]
		signed = signed[len(m.Documents):]
		done := *m
		if err := done.sign(own); err != nil {
			return err
		}
		p.moves[m.From] = &done
	}
	return nil
}

// sign fills in the signed file.
func (m *Move) sign(signed []*exception.Document) (err error) {
	for i, doc := range signed {
		if asked := m.Documents[i].Identity(); doc.Identity() != asked {
			return fmt.Errorf("%s was signed, expected %s", doc.Identity(), asked)
		}
		entry, err := commitmessage.LogEntryOf(doc)
		if err != nil {
			return fmt.Errorf("%s: %w", m.To, err)
		}
		if entry != nil {
			m.logIndexes = append(m.logIndexes, entry.Index)
		}
	}
	m.signed, err = exception.Join(signed)
	if err == nil && len(m.signed) > git.MaxFile {
		err = git.ErrTooLarge // the next run could not read it
	}
	if err != nil {
		return fmt.Errorf("%s: %w", m.To, err)
	}
	return nil
}

// Moves returns the moves with their signed documents, in the order of the plan.
func (p *Promotion) Moves() []*Move {
	var moves []*Move
	for _, f := range p.queue.files {
		if m, planned := p.moves[f.from]; planned {
			moves = append(moves, m)
		}
	}
	return moves
}

// Make commits the promotion.
func (p *Promotion) Make(ctx context.Context, to deliver.To) (*Done, error) {
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
func (p *Promotion) propose(done *Done, signedOffBy string) commit.Propose {
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
		done.Moves, done.Skipped, done.Refused = nil, plan.Skipped, p.signedOf(plan.Refused)
		change := commit.Change{Write: map[string][]byte{}}
		for _, now := range plan.Moves {
			move, known := p.moves[now.From]
			if !known {
				continue // it became pending after the signing
			}
			if !sameReplaced(now.Replaces, move.Replaces) {
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

// signedOf returns the refusals of files that this promotion has signed.
func (p *Promotion) signedOf(refusals exception.Refusals) exception.Refusals {
	var signed exception.Refusals
	for _, r := range refusals {
		if _, ours := p.moves[r.Position.File]; ours {
			signed = append(signed, r)
		}
	}
	return signed
}

func sameReplaced(now, then []Replaced) bool {
	if len(now) != len(then) {
		return false
	}
	for i := range now {
		if now[i].Path != then[i].Path || now[i].blob != then[i].blob {
			return false
		}
	}
	return true
}
