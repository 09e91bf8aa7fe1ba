package promotion

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion/commitmessage"
	"github.com/polex-dev/polex/pkg/exception"
)

// sign is the second step: it returns the signed documents, which another job or the [Signer] signed.
func (r *run) sign(ctx context.Context, plan *Plan) (*Signed, error) {
	if r.SignedInput != "" {
		plan.Refused = nil // already in the result
		signed, err := plan.TakeOver(r.SignedInput, r.Verifier, r.Now)
		r.leaveOut(Refused(plan.Refused))
		return signed, err
	}
	// Otherwise a permanent error of the destination, such as a folder that exists already, would add log
	// entries with every retry.
	if err := r.To.Rehearse(ctx, r.Clone, func(tree *git.Tree) (commit.Change, error) {
		unsigned, err := plan.Signed(plan.Prepared())
		if err != nil {
			return commit.Change{}, err
		}
		return unsigned.propose(&Done{}, "")(tree)
	}); err != nil {
		return nil, fmt.Errorf("nothing was signed: %w", err)
	}
	ready, err := r.Signer.Ready(ctx, plan.Prepared())
	if err != nil {
		return nil, err
	}
	plan.prepare(ready)
	return r.signBatches(ctx, plan)
}

// The number of documents in a batch. Small batches first, so that the losers of a race sign few.
const (
	firstBatch = 8
	mostBatch  = 64
)

// signBatches signs batches of files. Before each batch it asks for the target branch: a file that
// another run has promoted is not signed any more. It keeps no parsed document of a signed batch.
func (r *run) signBatches(ctx context.Context, plan *Plan) (*Signed, error) {
	signed, left := plan.noneSigned(), plan.Moves
	for most := firstBatch; ; most = min(2*most, mostBatch) {
		now, err := r.planAgain(ctx, plan)
		if err != nil {
			return nil, err
		}
		if now != plan {
			plan = now
			r.leaveOut(Refused(plan.refusedOf(func(file string) bool {
				return slices.ContainsFunc(left, func(m *Move) bool { return m.From == file })
			})))
			left = plan.still(left)
		}
		if len(left) == 0 {
			return signed, nil
		}
		batch := &Plan{Moves: first(left, most)}
		docs, err := r.Signer.Sign(ctx, batch.Prepared())
		if err == nil {
			err = plan.atCommits(batch.Moves, docs, r.Verifier, r.Now)
		}
		if err == nil {
			err = signed.add(batch.Moves, docs)
		}
		if err != nil {
			return nil, err
		}
		for _, m := range batch.Moves {
			m.drop()
		}
		left = left[len(batch.Moves):]
	}
}

// planAgain returns the plan on the target branch if a push would find that moved.
func (r *run) planAgain(ctx context.Context, plan *Plan) (*Plan, error) {
	if !r.To.Shared() {
		return plan, nil
	}
	at, _, err := r.Clone.Ask(ctx, r.To.Push.To)
	if err != nil || at == plan.on {
		return plan, err // without the remote, a signature would be in vain
	}
	tip, err := r.target(ctx)
	if err != nil {
		return nil, err
	}
	again, err := plan.queue.Plan(tip)
	if err == nil {
		err = r.checkAgain(again)
	}
	return again, err
}

// still returns the moves that are in the plan.
func (p *Plan) still(moves []*Move) []*Move {
	planned := map[string]bool{}
	for _, m := range p.Moves {
		planned[m.From] = true
	}
	return slices.DeleteFunc(slices.Clone(moves), func(m *Move) bool {
		if !planned[m.From] {
			m.drop()
		}
		return !planned[m.From]
	})
}

// refusedOf returns the refusals of some files.
func (p *Plan) refusedOf(some func(file string) bool) exception.Refusals {
	return slices.DeleteFunc(slices.Clone(p.Refused), func(r *exception.Refusal) bool { return !some(r.Position.File) })
}

// first returns the first moves with at most so many documents, and at least one move.
func first(moves []*Move, most int) []*Move {
	documents := 0
	for i, m := range moves {
		if documents += len(m.Documents); i > 0 && documents > most {
			return moves[:i]
		}
	}
	return moves
}

// Signed are the signed documents of a plan.
type Signed struct {
	queue *Queue
	moves map[string]*Move // by pending file
	// check examines each new plan, because a later merge can make a signed document invalid. It
	// may be nil.
	check func(*Plan) error
}

// Signed returns the signed form of each of [Plan.Documents], in the same order, as signed documents of
// the plan.
func (p *Plan) Signed(docs []*exception.Document) (*Signed, error) {
	signed := p.noneSigned()
	return signed, signed.add(p.Moves, docs)
}

// noneSigned has no signed file yet.
func (p *Plan) noneSigned() *Signed { return &Signed{queue: p.queue, moves: map[string]*Move{}} }

// add adds the signed documents of moves, in the same order. It keeps only the bytes of the signed
// files: a signed document takes more than twice as much memory.
func (p *Signed) add(moves []*Move, signed []*exception.Document) error {
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
		done.Prepared = nil
		if err := done.sign(own); err != nil {
			return err
		}
		p.moves[m.From] = &done
	}
	return nil
}

// Moves returns the moves with their signed documents, in the order of the plan.
func (p *Signed) Moves() []*Move {
	var moves []*Move
	for _, f := range p.queue.files {
		if m, planned := p.moves[f.From]; planned {
			moves = append(moves, m)
		}
	}
	return moves
}

// message returns the commit message: the signed exceptions, and trailers for the audit.
func (p *Signed) message(moves []*Move, signedOffBy string) string {
	var docs []*exception.Document
	for _, m := range moves {
		docs = append(docs, m.Documents...)
	}
	if len(docs) == 0 {
		return ""
	}
	var b strings.Builder
	if len(docs) == 1 {
		fmt.Fprintf(&b, "Sign %s\n\n", docs[0].Identity())
	} else {
		fmt.Fprintf(&b, "Sign %d exceptions\n\n", len(docs))
	}
	for _, m := range moves {
		fmt.Fprintf(&b, "%s -> %s\n", m.From, m.To)
	}
	fmt.Fprintf(&b, "\n%s: %s\n", commitmessage.Source, p.queue.source)
	for _, m := range moves {
		for _, index := range m.logIndexes {
			fmt.Fprintf(&b, "%s: %d\n", commitmessage.LogIndex, index)
		}
	}
	for _, m := range moves {
		for _, r := range m.Replaces {
			b.WriteString(commitmessage.Files(commitmessage.Replaces, r.Path, r.Documents...))
		}
	}
	fmt.Fprintf(&b, "Signed-off-by: %s\n", signedOffBy)
	return b.String()
}
