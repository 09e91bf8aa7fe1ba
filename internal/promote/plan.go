package promote

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/promote/pending"
	"github.com/polex-dev/polex/pkg/exception"
)

// Plan is what becomes of a queue on one commit, which is its source or one that
// came later.
type Plan struct {
	Moves   []*Move
	Skipped []Skip
	// Refused says why files are left out, with [Options.KeepGoing].
	Refused exception.Refusals

	queue *Queue
	there *listing
	on    plumbing.Hash
}

// Move is one file of a plan.
type Move struct {
	From, To  string
	Documents []*exception.Document // as they were asked for, or sealed
	// Predecessors are what the documents renew or take the place of, one for each: as it
	// lies in the signed folder, and not verified. It is nil for a first exception.
	Predecessors []*exception.Document
	// Origin is the commit that brought the file; nil where history does not go
	// back far enough to tell.
	Origin   *git.Origin
	Replaces []Replaced
}

// Replaced is a signed file that goes when another takes its place. All the
// exceptions in it are signed anew.
type Replaced struct {
	Path      string
	Documents []*exception.Document
	blob      plumbing.Hash
}

// Skip is a file of the queue that is not promoted by this run, and rightly so.
type Skip struct {
	File, Reason, Message string
	// Signed says that this run has signed the file before it was withdrawn or changed.
	Signed bool
}

// ErrNotContained says that the commit which is to be built upon does not have
// the one that the queue was read from.
var ErrNotContained = errors.New("it does not contain the commit that the queue was read from")

// Plan says what becomes of the queue on a commit. It returns
// [exception.Refusals] when something of it cannot be promoted there.
func (q *Queue) Plan(on plumbing.Hash) (*Plan, error) {
	tree, err := q.clone.Tree(on)
	if err != nil {
		return nil, err
	}
	return q.plan(tree)
}

func (q *Queue) plan(tree *git.Tree) (*Plan, error) {
	on := plumbing.NewHash(tree.Commit())
	switch contained, err := q.clone.Contains(on, q.source); {
	case err != nil:
		return nil, err
	case !contained:
		return nil, fmt.Errorf("commit %s: %w, %s", on, ErrNotContained, q.source)
	}
	there, err := q.list(tree)
	if err != nil {
		return nil, err
	}
	p := &Plan{queue: q, there: there, on: on, Refused: slices.Clone(q.refused)}
	if err := p.choose(); err != nil {
		return nil, err
	}
	for {
		refusals, err := p.check()
		if err != nil {
			return nil, err
		}
		if len(refusals) == 0 {
			return p, nil
		}
		if !q.options.KeepGoing || !slices.ContainsFunc(refusals, func(r *exception.Refusal) bool { return p.Has(r.Position.File) }) {
			return nil, refusals
		}
		p.leaveOut(refusals)
	}
}

// Source returns the commit that the queue was read from.
func (p *Plan) Source() plumbing.Hash { return p.queue.source }

// Has reports whether a file of the pending folder is promoted by the plan.
func (p *Plan) Has(from string) bool {
	return slices.ContainsFunc(p.Moves, func(m *Move) bool { return m.From == from })
}

// leaveOut takes the files that were refused out of the plan. What the others ask for
// may depend on them, and is to be checked again.
func (p *Plan) leaveOut(refusals exception.Refusals) {
	p.Refused = append(p.Refused, refusals...)
	p.Moves = slices.DeleteFunc(p.Moves, func(m *Move) bool {
		return slices.ContainsFunc(refusals, func(r *exception.Refusal) bool { return r.Position.File == m.From })
	})
}

// check holds every move against what is signed already, and against the others.
func (p *Plan) check() (exception.Refusals, error) {
	asked := map[exception.Identity]bool{}
	for _, m := range p.Moves {
		for _, doc := range m.Documents {
			asked[doc.Identity()] = true
		}
	}
	var refusals exception.Refusals
	targets := pending.Targets{}
	for _, m := range p.Moves {
		problems, err := p.queue.check(m, p.there, asked)
		if err != nil {
			return nil, err
		}
		predecessors, renewals, err := p.there.renewals(m.Documents)
		if err != nil {
			return nil, err
		}
		m.succeed(predecessors)
		refusals = append(append(append(refusals, problems...), renewals...), targets.Add(m.request())...)
	}
	return refusals, nil
}

func (m *Move) request() pending.Request {
	r := pending.Request{From: m.From, To: m.To}
	for _, doc := range m.Documents {
		r.Documents = append(r.Documents, pending.Document{Identity: doc.Identity(), Position: doc.Position()})
	}
	return r
}

// succeed notes what each document takes up after: what it says that it renews, or the
// signed exception of its own name, which would otherwise get another life without being
// a renewal.
func (m *Move) succeed(renewed []*exception.Document) {
	m.Predecessors = renewed
	signed := map[exception.Identity]*exception.Document{}
	for _, r := range m.Replaces {
		for _, doc := range r.Documents {
			signed[doc.Identity()] = doc
		}
	}
	for i, doc := range m.Documents {
		if m.Predecessors[i] == nil {
			m.Predecessors[i] = signed[doc.Identity()]
		}
	}
}

// choose takes the files that are still there as they were in the source, that no later
// commit asked for, and that the same rules are for. What changed since was approved anew,
// by other rules maybe, and is for the run of that commit.
func (p *Plan) choose() error {
	again, err := p.queue.askedAgain(p.there, p.on)
	if err != nil {
		return err
	}
	rule, err := p.queue.changedRule(p.there.tree)
	if err != nil {
		return err
	}
	for _, f := range p.queue.files {
		if p.queue.left[f.from] {
			continue
		}
		switch blob := p.there.waiting(f.from); {
		case blob.IsZero():
			p.Skipped = append(p.Skipped, Skip{File: f.from, Reason: ReasonGoneSince, Message: "it was signed or withdrawn since"})
		case blob != f.blob || again[f.from]:
			p.Skipped = append(p.Skipped, Skip{File: f.from, Reason: ReasonChangedSince, Message: "it was changed since, and is left to the run of that commit"})
		case rule != "":
			p.Skipped = append(p.Skipped, Skip{File: f.from, Reason: ReasonChangedSince, Message: rule + " was changed since, and the file is left to a run by the new one"})
		default:
			p.Moves = append(p.Moves, &Move{From: f.from, To: f.to, Documents: f.documents, Origin: f.origin})
		}
	}
	if p.queue.options.KeepGoing {
		// Of two that cannot both be promoted, the one that has waited longer is: nobody
		// shuts another's request out by adding a file. History that does not go back to a
		// file is older than all of it.
		slices.SortStableFunc(p.Moves, func(a, b *Move) int { return a.askedAt().Compare(b.askedAt()) })
	}
	return nil
}

func (m *Move) askedAt() time.Time {
	if m.Origin == nil {
		return time.Time{}
	}
	return m.Origin.CommittedAt
}

// check holds a move against what is signed already.
func (q *Queue) check(m *Move, there *listing, asked map[exception.Identity]bool) (exception.Refusals, error) {
	m.Replaces = nil
	replaces, refusals := there.Check(m.request(), asked, q.options.Replace)
	for _, name := range replaces {
		docs, err := documentsIn(there.tree, there.signed[name])
		if err != nil {
			return nil, err
		}
		m.Replaces = append(m.Replaces, Replaced{Path: name, Documents: docs, blob: there.signed[name].Hash()})
	}
	return refusals, nil
}

// Live calls visit with what lies in the signed folder of the commit that the plan is
// for, and stays there, in the order of the files. Nobody has verified any of it.
func (p *Plan) Live(visit func(*exception.Document)) error {
	replaced := map[string]bool{}
	for _, m := range p.Moves {
		for _, r := range m.Replaces {
			replaced[r.Path] = true
		}
	}
	for _, name := range p.there.Files() {
		if replaced[name] {
			continue
		}
		docs, err := documentsIn(p.there.tree, p.there.signed[name])
		if err != nil {
			return err
		}
		for _, doc := range docs {
			visit(doc)
		}
	}
	return nil
}

// Documents returns all documents that are to be sealed, in the order of the
// moves.
func (p *Plan) Documents() []*exception.Document {
	var docs []*exception.Document
	for _, m := range p.Moves {
		docs = append(docs, m.Documents...)
	}
	return docs
}
