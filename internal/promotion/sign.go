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

// sign is the second step: it returns the signed files, which another job or the [Signer] signed.
func (r *run) sign(ctx context.Context, plan *Plan) (signedFiles, error) {
	if r.SignedInput != "" {
		return r.takeOver(plan)
	}
	// Otherwise a permanent error of the destination, such as a folder that exists already, would add log
	// entries with every retry.
	if err := r.To.Rehearse(ctx, r.Clone, func(tree *git.Tree) (commit.Change, error) {
		unsigned := signedFiles{}
		if err := unsigned.add(plan.Moves, plan.Prepared()); err != nil {
			return commit.Change{}, err
		}
		return r.propose(unsigned, "", &Result{})(tree)
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
func (r *run) signBatches(ctx context.Context, plan *Plan) (signedFiles, error) {
	signed, left := signedFiles{}, plan.Moves
	for most := firstBatch; ; most = min(2*most, mostBatch) {
		now, err := r.planNow(ctx, plan)
		if err != nil {
			return nil, err
		}
		if now != plan {
			plan, left = now, now.still(left)
		}
		if len(left) == 0 {
			return signed, nil
		}
		batch := &Plan{Moves: first(left, most), run: r}
		docs, err := r.Signer.Sign(ctx, batch.Prepared())
		if err == nil {
			err = batch.atCommits(docs)
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

// planNow returns the plan on the target branch if a push would find that moved.
func (r *run) planNow(ctx context.Context, plan *Plan) (*Plan, error) {
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
	tree, err := r.Clone.Tree(tip)
	if err != nil {
		return nil, err
	}
	return r.planAgain(tree)
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

// signedFiles are the moves with their signed files, by pending file.
type signedFiles map[string]*Move

// add adds the signed documents of moves, in the same order. It keeps only the bytes of the signed
// files: a signed document takes more than twice as much memory.
func (s signedFiles) add(moves []*Move, signed []*exception.Document) error {
	wanted := 0
	for _, m := range moves {
		wanted += len(m.Documents)
	}
	if len(signed) != wanted {
		return fmt.Errorf("%d of %d documents were signed", len(signed), wanted)
	}
	for _, m := range moves {
		done := *m
		done.Prepared = nil
		if err := done.sign(signed[:len(m.Documents)]); err != nil {
			return err
		}
		signed = signed[len(m.Documents):]
		s[m.From] = &done
	}
	return nil
}

// message returns the commit message: the signed exceptions, and trailers for the audit.
func (r *run) message(moves []*Move, signedOffBy string) string {
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
	fmt.Fprintf(&b, "\n%s: %s\n", commitmessage.Source, r.result.Source)
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
