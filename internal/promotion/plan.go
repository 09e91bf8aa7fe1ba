package promotion

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
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

// target returns the current commit of the target branch.
func (r *run) target(ctx context.Context) (git.Hash, error) {
	if r.To.Push.To == (commit.Remote{}) {
		head, err := r.Clone.Head()
		return head.Commit, err
	}
	return Target(ctx, r.Clone, r.To.Push.To, r.To.Local())
}

// plan is the first step: it reads the pending files, and returns the checked plan on the target branch
// with the documents to sign. With [Options.KeepGoing] it leaves out rejected files until the rest passes.
func (r *run) plan(ctx context.Context) (*Plan, error) {
	queue, err := Open(r.Clone, r.Options)
	if err != nil {
		return nil, err
	}
	r.result.OtherKinds, r.result.Source = queue.others, queue.source
	on, err := r.target(ctx)
	if err != nil {
		return nil, err
	}
	for {
		plan, err := queue.Plan(on)
		if err != nil {
			return nil, err
		}
		r.result.Skipped, r.result.Documents = plan.Skipped, len(plan.Documents())
		found, err := r.check(ctx, plan)
		switch {
		case err != nil:
			return nil, err
		case !found.Refuse():
			r.result.Findings = append(r.result.Findings, found...)
			r.leaveOut(Refused(plan.Refused))
			return plan, nil
		case !r.KeepGoing || !slices.ContainsFunc(found,
			func(f Finding) bool { return f.Severity == shape.Error && plan.Has(f.Position.File) }):
			return nil, found // leaving out files would not help
		}
		found = slices.DeleteFunc(found, func(f Finding) bool { return f.Severity != shape.Error })
		for _, f := range found {
			queue.left[f.Position.File] = true
		}
		r.leaveOut(found)
	}
}

// check returns the findings about a plan. If it has no errors, check also prepares the documents to sign.
func (r *run) check(ctx context.Context, plan *Plan) (Findings, error) {
	docs := plan.Documents()
	if len(docs) == 0 {
		return nil, nil
	}
	found, err := r.Checks.against(plan, r.Now)
	if err != nil {
		return nil, err
	}
	alone, prepared, err := r.Checks.Check(docs, r.Now)
	found = append(found, alone...)
	if err != nil || found.Refuse() || r.SignedInput != "" { // the job that signed wrote the record
		return found, err
	}
	plan.prepare(prepared)
	branch := r.To.Push.To.Branch
	if branch == "" {
		head, err := r.Clone.Head()
		if err != nil {
			return nil, err
		}
		if head.Branch != git.HEAD {
			branch = head.Branch.Short()
		}
	}
	recorded, err := r.Recorder.Record(ctx, plan, branch)
	if refused := exception.RefusalsIn(err); refused != nil {
		return append(found, Refused(refused)...), nil
	}
	if err == nil {
		plan.prepare(recorded)
	}
	return found, err
}

// checkAgain rejects a plan that was made again on the moved target branch.
func (r *run) checkAgain(plan *Plan) error {
	found, err := r.Checks.against(plan, r.Now)
	if err == nil && len(found) > 0 {
		err = found
	}
	return err
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
		m.Replaces = nil
		replaces, problems := p.there.Check(m.request(), asked, p.queue.options.Replace)
		for _, name := range replaces {
			entry := p.there.signed[name]
			docs, err := documentsIn(p.there.tree, entry)
			if err != nil {
				return nil, err
			}
			m.Replaces = append(m.Replaces, Replaced{Path: name, Documents: docs, blob: entry.Hash()})
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
		if p.queue.left[f.From] {
			continue
		}
		skip := func(reason, message string) {
			p.Skipped = append(p.Skipped, Skip{File: f.From, Reason: reason, Message: message})
		}
		switch blob := p.there.waiting(f.From); {
		case blob.IsZero():
			skip(ReasonGoneSince, "it was signed or removed since")
		case blob != f.Blob || again[f.From]:
			skip(ReasonChangedSince, "it was changed since, and is left to the run of that commit")
		case rule != "":
			skip(ReasonChangedSince, rule+" was changed since, and the file is left to a run by the new one")
		default:
			m := *f
			p.Moves = append(p.Moves, &m)
		}
	}
	if p.queue.options.KeepGoing {
		// If two files exclude each other, promote the older request: nobody can block the request
		// of another team by adding a file. A file without a known origin is the oldest.
		slices.SortStableFunc(p.Moves, func(a, b *Move) int { return a.askedAt().Compare(b.askedAt()) })
	}
	return nil
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

// prepare sets [Move.Prepared] of all moves, in their order.
func (p *Plan) prepare(docs []*exception.Document) {
	for _, m := range p.Moves {
		m.Prepared, docs = docs[:len(m.Documents)], docs[len(m.Documents):]
	}
}
