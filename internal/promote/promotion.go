package promote

import (
	"context"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promote/deliver"
	"github.com/polex-dev/polex/pkg/exception"
)

// Promotion is a plan whose documents are sealed.
type Promotion struct {
	queue *Queue
	moves map[string]*Move // by the file in the queue
	// check is asked of each plan that the promotion is made by; nil asks nothing. What was
	// merged since may refuse what is signed.
	check func(*Plan) error
}

// Done is what became of a promotion.
type Done struct {
	Moves   []*Move
	Skipped []Skip
	// Refused says why files that were signed are left out after all, with
	// [Options.KeepGoing]: the remote has moved meanwhile.
	Refused exception.Refusals
	Commit  plumbing.Hash // zero where nothing was committed
	// Left says why the work tree was left where it was, where that does not follow
	// from what was asked for.
	Left string
}

// Seal takes the sealed documents, one for each of [Plan.Documents] in the same
// order.
func (p *Plan) Seal(sealed []*exception.Document) (*Promotion, error) {
	promotion := &Promotion{queue: p.queue, moves: map[string]*Move{}}
	asked := p.Documents()
	if len(sealed) != len(asked) {
		return nil, fmt.Errorf("%d documents were signed of %d", len(sealed), len(asked))
	}
	for i, doc := range sealed {
		if doc.Identity() != asked[i].Identity() {
			return nil, fmt.Errorf("%s was signed where %s was asked for", doc.Identity(), asked[i].Identity())
		}
	}
	for _, m := range p.Moves {
		done := *m
		done.Documents, sealed = sealed[:len(m.Documents)], sealed[len(m.Documents):]
		promotion.moves[m.From] = &done
	}
	return promotion, nil
}

// Moves returns the moves with their sealed documents, in the order of the plan.
func (p *Promotion) Moves() []*Move {
	var moves []*Move
	for _, f := range p.queue.files {
		if m, planned := p.moves[f.from]; planned {
			moves = append(moves, m)
		}
	}
	return moves
}

// Make makes the promotion, and a commit of it unless the way is [deliver.WorkTree].
func (p *Promotion) Make(ctx context.Context, to deliver.To) (*Done, error) {
	if to.Way != deliver.Push {
		if err := p.queue.checkUnmoved(); err != nil {
			return nil, err
		}
	}
	done := &Done{}
	result, err := to.Make(ctx, p.queue.clone, func(signedOffBy string) commit.Propose { return p.propose(done, signedOffBy) })
	done.Commit, done.Left = result.Commit, result.Left
	return done, err
}

// propose plans anew on whatever tree there is by then, and takes what was
// sealed. What was shown to be replaced has to be what is replaced.
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
			sealed, known := p.moves[now.From]
			if !known {
				continue // it was not there when the others were signed
			}
			if !sameReplaced(now.Replaces, sealed.Replaces) {
				return commit.Change{}, fmt.Errorf("the file that %s replaces has changed since it was signed: run it again", now.From)
			}
			content, err := exception.Join(sealed.Documents)
			if err != nil {
				return commit.Change{}, fmt.Errorf("%s: %w", now.To, err)
			}
			change.Write[now.To] = content
			change.Remove = append(change.Remove, now.From)
			done.Moves = append(done.Moves, sealed)
		}
		// A file that several replace goes once, and one that is written over stays.
		gone := map[string]bool{}
		for _, m := range done.Moves {
			for _, r := range m.Replaces {
				if _, written := change.Write[r.Path]; !written && !gone[r.Path] {
					gone[r.Path] = true
					change.Remove = append(change.Remove, r.Path)
				}
			}
		}
		change.Message, err = p.message(done.Moves, signedOffBy)
		return change, err
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
