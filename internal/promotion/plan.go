package promotion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/pkg/exception"
)

// Plan is the decision about the pending files on one commit: the source or a later one.
type Plan struct {
	Moves   []*Move
	Skipped []Skip
	// refused are the errors about files that are left out beside the others. Another plan may have them.
	refused Findings

	run *run
	// The files of both folders in the commit on, by path.
	on       git.Hash
	tree     *git.Tree
	unsigned map[string]git.Entry
	signed   map[string]git.Entry
	there    pending.Signed
}

// target returns the commit for the plan: the tip of the target branch. It fetches the branch, so a
// repeated run does not sign a request that was signed or removed in the meantime.
//
// For a promotion that stays in the clone, the local branch is used if it contains the remote branch, or
// if the remote does not have that branch.
func (r *run) target(ctx context.Context) (git.Hash, error) {
	branch := r.To.Push.To
	if branch != (commit.Remote{}) && !r.To.Local() {
		return r.Clone.Fetch(ctx, branch)
	}
	head, err := r.Clone.Head()
	if err != nil || branch == (commit.Remote{}) {
		return head.Commit, err
	}
	switch _, there, err := r.Clone.Ask(ctx, branch); {
	case err != nil:
		return git.ZeroHash, fmt.Errorf("ask the remote for %s: %w", branch, err)
	case !there:
		return head.Commit, nil
	}
	tip, err := r.Clone.Fetch(ctx, branch)
	if err != nil {
		return git.ZeroHash, err
	}
	if ahead, err := r.Clone.Contains(head.Commit, tip); err != nil || ahead {
		return head.Commit, err
	}
	return tip, nil
}

// plan is the first step: it reads the pending files, and returns the checked plan on the target branch
// with the documents to sign. With [Options.KeepGoing] it leaves out rejected files until the rest passes.
func (r *run) plan(ctx context.Context) (*Plan, error) {
	if err := r.open(); err != nil {
		return nil, err
	}
	on, err := r.target(ctx)
	if err != nil {
		return nil, err
	}
	for {
		plan, err := r.planOn(on)
		if err != nil {
			return nil, err
		}
		r.result.Skipped, r.result.Documents = plan.Skipped, len(plan.Documents())
		found, err := r.check(ctx, plan)
		switch {
		case err != nil:
			return nil, err
		case !found.Refuse():
			r.reject(plan.refused)
			r.result.Findings = append(r.result.Findings, found...)
			return plan, nil
		}
		rejected := r.leavable(plan, found)
		if rejected == nil {
			return nil, found
		}
		r.reject(rejected)
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
	if branch == "" && r.head.Branch != git.HEAD {
		branch = r.head.Branch.Short()
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

// ErrNotContained means that the target branch does not contain the source commit.
var ErrNotContained = errors.New("the target branch does not contain the commit with the pending exceptions")

// planOn makes the plan for a commit. It returns [exception.Refusals] if a file cannot be promoted.
func (r *run) planOn(on git.Hash) (*Plan, error) {
	tree, err := r.Clone.Tree(on)
	if err != nil {
		return nil, err
	}
	return r.planFor(tree)
}

func (r *run) planFor(tree *git.Tree) (*Plan, error) {
	p := &Plan{run: r, on: git.NewHash(tree.Commit()), tree: tree}
	switch contained, err := r.Clone.Contains(p.on, r.result.Source); {
	case err != nil:
		return nil, err
	case !contained:
		return nil, fmt.Errorf("commit %s: %w, %s", p.on, ErrNotContained, r.result.Source)
	}
	if err := p.list(); err != nil {
		return nil, err
	}
	again, err := p.askedAgain()
	if err != nil {
		return nil, err
	}
	rule, err := p.changedRule()
	if err != nil {
		return nil, err
	}
	for left := maps.Clone(r.left); ; {
		p.choose(again, rule, left)
		refusals, err := p.compare()
		if err != nil || len(refusals) == 0 {
			return p, err
		}
		refused := r.leavable(p, Refused(refusals))
		if refused == nil {
			return nil, refusals
		}
		p.refused = append(p.refused, refused...)
		for _, f := range refused {
			left[f.Position.File] = true
		}
	}
}

// planAgain is [run.planOn] for a target branch that has moved since the documents were checked.
func (r *run) planAgain(tree *git.Tree) (*Plan, error) {
	plan, err := r.planFor(tree)
	if err != nil {
		return nil, err
	}
	if found, err := r.Checks.against(plan, r.Now); err != nil || len(found) > 0 {
		return nil, cmp.Or(err, error(found))
	}
	r.reject(plan.refused)
	return plan, nil
}

// Has reports whether the plan promotes a pending file.
func (p *Plan) Has(from string) bool {
	return slices.ContainsFunc(p.Moves, func(m *Move) bool { return m.From == from })
}

// choose selects the pending files that are unchanged since the source, were not requested again by
// a later commit, and are under unchanged rules. A later change has its own approval and perhaps
// its own rules, so the run of that commit promotes it. Other files may depend on one that is left out, so
// the plan must be compared again.
func (p *Plan) choose(again map[string]bool, rule string, left map[string]bool) {
	p.Moves, p.Skipped = nil, nil
	for _, f := range p.run.files {
		if left[f.From] {
			continue
		}
		skip := func(reason, message string) {
			p.Skipped = append(p.Skipped, Skip{File: f.From, Reason: reason, Message: message})
		}
		switch blob := p.waiting(f.From); {
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
	if p.run.KeepGoing {
		// If two files exclude each other, promote the older request: nobody can block the request
		// of another team by adding a file. A file without a known origin is the oldest.
		slices.SortStableFunc(p.Moves, func(a, b *Move) int { return a.askedAt().Compare(b.askedAt()) })
	}
}

// compare compares every move with the signed files and with the other moves.
func (p *Plan) compare() (exception.Refusals, error) {
	asked := map[exception.Identity]bool{}
	for _, doc := range p.Documents() {
		asked[doc.Identity()] = true
	}
	var refusals exception.Refusals
	targets := pending.Targets{}
	for _, m := range p.Moves {
		replaces, problems := p.there.Check(m.request(), asked, p.run.Replace)
		for _, name := range replaces {
			entry := p.signed[name]
			docs, err := documentsIn(p.tree, entry)
			if err != nil {
				return nil, err
			}
			m.Replaces = append(m.Replaces, Replaced{Path: name, Documents: docs, blob: entry.Hash()})
		}
		predecessors, renewals, err := p.renewals(m.Documents)
		if err != nil {
			return nil, err
		}
		m.succeed(predecessors)
		refusals = append(append(append(refusals, problems...), renewals...), targets.Add(m.request())...)
	}
	return refusals, nil
}

// live calls visit for each document that stays in the signed folder, ordered by file. The
// documents are not verified.
func (p *Plan) live(visit func(*exception.Document)) error {
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
		docs, err := documentsIn(p.tree, p.signed[name])
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
