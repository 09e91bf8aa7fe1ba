package promotion

import (
	"fmt"
	"strings"

	"github.com/polex-dev/polex/internal/promotion/commitmessage"
	"github.com/polex-dev/polex/pkg/exception"
)

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
