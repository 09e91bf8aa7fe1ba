package promotion

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/pkg/exception"
)

// Plan is the decision about the pending files on one commit: the source or a later one.
type Plan struct {
	Moves   []*Move
	Skipped []Skip
	// Refused are the rejected files with [Options.KeepGoing].
	Refused exception.Refusals

	queue *Queue
	there *listing
	on    git.Hash
}

// Move is one file of a plan.
type Move struct {
	From, To  string
	Documents []*exception.Document // as requested; in the result of a run without a destination, as prepared
	// Prepared are the documents to sign, without their review records. [Checks.Check] makes them.
	Prepared []*exception.Document
	// Predecessors has an element for each document: the signed exception that it renews or
	// replaces, not verified, or nil for a first exception.
	Predecessors []*exception.Document
	// Origin is the commit that added or last changed the file, or nil if the known history does
	// not contain it.
	Origin   *git.Origin
	Replaces []Replaced

	signed     []byte  // the signed file
	logIndexes []int64 // of its log entries
}

// Signed returns the documents of the signed file. Before the signing, it returns Documents.
func (m *Move) Signed() ([]*exception.Document, error) {
	if m.signed == nil {
		return m.Documents, nil
	}
	docs, refusals, err := readDocuments(m.signed, m.To)
	if err == nil && len(refusals) > 0 {
		err = refusals
	}
	return docs, err
}

// Replaced is a signed file that another one replaces. All its exceptions are signed again.
type Replaced struct {
	Path      string
	Documents []*exception.Document
	blob      git.Hash
}

// Skip is a pending file that this run does not promote, and that is not an error.
type Skip struct {
	File, Reason, Message string
	// Signed reports whether this run had signed the file when it was changed or removed.
	Signed bool
}

// ErrNotContained means that the target branch does not contain the source commit.
var ErrNotContained = errors.New("the target branch does not contain the commit with the pending exceptions")

// Plan makes the plan for a commit. It returns [exception.Refusals] if a file cannot be promoted.
func (q *Queue) Plan(on git.Hash) (*Plan, error) {
	tree, err := q.clone.Tree(on)
	if err != nil {
		return nil, err
	}
	return q.plan(tree)
}

func (q *Queue) plan(tree *git.Tree) (*Plan, error) {
	on := git.NewHash(tree.Commit())
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
		if !q.options.KeepGoing || !slices.ContainsFunc(refusals,
			func(r *exception.Refusal) bool { return p.Has(r.Position.File) }) {
			return nil, refusals
		}
		p.leaveOut(refusals)
	}
}

// Source returns the source commit.
func (p *Plan) Source() git.Hash { return p.queue.source }

// Has reports whether the plan promotes a pending file.
func (p *Plan) Has(from string) bool {
	return slices.ContainsFunc(p.Moves, func(m *Move) bool { return m.From == from })
}

// leaveOut removes the rejected files from the plan. Other files may depend on them, so the plan
// must be checked again.
func (p *Plan) leaveOut(refusals exception.Refusals) {
	p.Refused = append(p.Refused, refusals...)
	p.Moves = slices.DeleteFunc(p.Moves, func(m *Move) bool {
		return slices.ContainsFunc(refusals, func(r *exception.Refusal) bool { return r.Position.File == m.From })
	})
}

// check compares every move with the signed files and with the other moves.
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

// succeed sets the predecessor of each document: the exception that it renews, or the signed
// exception of the same name. A replacement also continues an exception, so the rules for renewals
// apply to it.
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

// choose selects the pending files that are unchanged since the source, were not requested again by
// a later commit, and are under unchanged rules. A later change has its own approval and perhaps
// its own rules, so the run of that commit promotes it.
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
			p.Skipped = append(p.Skipped, Skip{File: f.from, Reason: ReasonGoneSince,
				Message: "it was signed or removed since"})
		case blob != f.blob || again[f.from]:
			p.Skipped = append(p.Skipped, Skip{File: f.from, Reason: ReasonChangedSince,
				Message: "it was changed since, and is left to the run of that commit"})
		case rule != "":
			p.Skipped = append(p.Skipped, Skip{File: f.from, Reason: ReasonChangedSince,
				Message: rule + " was changed since, and the file is left to a run by the new one"})
		default:
			p.Moves = append(p.Moves, &Move{From: f.from, To: f.to, Documents: f.documents, Origin: f.origin})
		}
	}
	if p.queue.options.KeepGoing {
		// If two files exclude each other, promote the older request: nobody can block the request
		// of another team by adding a file. A file without a known origin is the oldest.
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

// check compares a move with the signed files.
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

// Live calls visit for each document that stays in the signed folder, ordered by file. The
// documents are not verified.
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

// Documents returns all documents to sign, in the order of the moves.
func (p *Plan) Documents() []*exception.Document {
	var docs []*exception.Document
	for _, m := range p.Moves {
		docs = append(docs, m.Documents...)
	}
	return docs
}

// Prepared returns [Move.Prepared] of all moves, in their order.
func (p *Plan) Prepared() []*exception.Document {
	var docs []*exception.Document
	for _, m := range p.Moves {
		docs = append(docs, m.Prepared...)
	}
	return docs
}
