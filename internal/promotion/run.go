package promotion

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/polex-dev/polex/internal/forge"
	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion/deliver"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/pkg/verify"
)

// Job holds the inputs of one run: the files, the rules and the destination.
type Job struct {
	Options
	Clone *commit.Clone
	Now   time.Time // start of the lifetimes

	// To is the destination. An empty To.Push.As of a pull request means [Queue.PullRequestBranch].
	To deliver.To
	// PullRequests opens the pull request of a pushed branch, if not nil. See [Result.Propose].
	PullRequests forge.PullRequests
	// SignedInput is a folder with signed files, instead of Signer. See [Plan.TakeOver].
	SignedInput string

	Checks Checks
	// Verifier verifies with the trust policy. It is nil if no trusted signer is configured. Then
	// the run accepts no signed documents from SignedInput or from a branch.
	Verifier *verify.Verifier
	Recorder Recorder
	Signer   Signer // not used with SignedInput
}

// Recorder finds the reviews of requests.
type Recorder interface {
	// Record returns [Move.Prepared] of all moves with their review records, or [exception.Refusals].
	// branch is the target branch of the requests, or "" if it is not known.
	Record(ctx context.Context, plan *Plan, branch string) ([]*exception.Document, error)
}

// Signer signs documents with one identity.
type Signer interface {
	// Ready returns the documents in the form to sign. It returns [exception.Refusals] if the trust
	// policy would not accept one of them from this signer, and another error if nothing may be signed.
	Ready(ctx context.Context, docs []*exception.Document) ([]*exception.Document, error)
	// Sign returns the signed form of some of these documents, in their order.
	Sign(ctx context.Context, docs []*exception.Document) ([]*exception.Document, error)
}

// Result is the result of a run. It has no moves if everything was rejected or nothing was pending.
type Result struct {
	// Moves have the signed documents. In a dry run, they have the documents before signing.
	Moves   []*Move
	Skipped []Skip
	// OtherKinds is the number of pending files with only documents of other kinds. They stay.
	OtherKinds int
	// Documents is the number of documents to sign, or of signed documents.
	Documents int
	// Source is the commit with the pending files.
	Source git.Hash
	// Findings are the errors and warnings. LeftOut is the number of rejected files that were left
	// out with [Options.KeepGoing].
	Findings Findings
	LeftOut  int
	// Commit is zero if nothing was committed. To is the pushed branch. Proposed reports whether an
	// earlier run has pushed it already, for the pull request.
	Commit   git.Hash
	To       commit.Remote
	Proposed bool
	// Left is the reason if the work tree was unexpectedly not updated.
	Left string
}

// Run promotes the pending exceptions. A rejection is in the result and is not an error. After an
// error nothing was promoted, and the result describes the steps before the error.
func Run(ctx context.Context, job Job) (*Result, error) {
	r := &run{Job: job, result: &Result{}, left: map[string]bool{}}
	err := r.run(ctx)
	found := Refused(exception.RefusalsIn(err))
	if len(found) == 0 {
		errors.As(err, &found)
	}
	if len(found) > 0 {
		r.result.Findings, err = append(r.result.Findings, found...), nil
	}
	return r.result, err
}

type run struct {
	Job
	result *Result
	left   map[string]bool // files that are left out
}

// run keeps the order of a promotion: plan, sign, deliver. Nothing is signed before all documents
// pass the checks, and nothing is written before everything is signed and verified. Later merges and
// errors of the disk or the remote show only after the signing.
func (r *run) run(ctx context.Context) error {
	if r.SignedInput != "" && r.Verifier == nil {
		return errors.New("no trusted signer is configured to verify the signed files")
	}
	queue, err := Open(r.Clone, r.Options)
	if err != nil {
		return err
	}
	r.result.OtherKinds, r.result.Source = queue.others, queue.source
	plan, recorded, err := r.plan(ctx, queue)
	switch {
	case err != nil:
		return err
	case len(plan.Moves) == 0:
		r.follow(plan.on)
		return nil
	case r.To.Way == deliver.Plan:
		return r.foresee(plan, recorded)
	}
	if there, err := r.proposed(ctx, plan); err != nil || there {
		return err
	}
	promotion, err := r.sign(ctx, plan, recorded)
	if err != nil {
		return err
	}
	promotion.check = r.checkAgain
	if r.To.Way == deliver.Folder {
		return r.made(&Done{Moves: promotion.Moves()}, promotion.HandOver(r.To.Folder))
	}
	return r.made(promotion.Make(ctx, r.To))
}

// target returns the current commit of the target branch.
func (r *run) target(ctx context.Context) (git.Hash, error) {
	if r.To.Push.To == (commit.Remote{}) {
		head, err := r.Clone.Head()
		return head.Commit, err
	}
	return Target(ctx, r.Clone, r.To.Push.To, r.To.Way == deliver.Plan || r.To.Way == deliver.Commit)
}

// plan returns a checked plan on the target branch, and the documents to sign. With
// [Options.KeepGoing] it leaves out rejected files until the rest passes.
func (r *run) plan(ctx context.Context, queue *Queue) (*Plan, []*exception.Document, error) {
	on, err := r.target(ctx)
	if err != nil {
		return nil, nil, err
	}
	for {
		plan, err := queue.Plan(on)
		if err != nil {
			return nil, nil, err
		}
		r.result.Skipped, r.result.Documents = plan.Skipped, len(plan.Documents())
		found, recorded, err := r.check(ctx, plan)
		switch {
		case err != nil:
			return nil, nil, err
		case !found.Refuse():
			r.result.Findings = append(r.result.Findings, found...)
			r.leaveOut(Refused(plan.Refused))
			return plan, recorded, nil
		case !r.KeepGoing || !slices.ContainsFunc(found,
			func(f Finding) bool { return f.Severity == shape.Error && plan.Has(f.Position.File) }):
			return nil, nil, found // leaving out files would not help
		}
		found = slices.DeleteFunc(found, func(f Finding) bool { return f.Severity != shape.Error })
		for _, f := range found {
			queue.left[f.Position.File] = true
		}
		r.leaveOut(found)
	}
}

// check returns the findings about a plan. If it has no errors, check also returns the documents
// with their review records.
func (r *run) check(ctx context.Context, plan *Plan) (Findings, []*exception.Document, error) {
	docs := plan.Documents()
	if len(docs) == 0 {
		return nil, nil, nil
	}
	found, err := r.Checks.against(plan, r.Now)
	if err != nil {
		return nil, nil, err
	}
	alone, prepared, err := r.Checks.Check(docs, r.Now)
	found = append(found, alone...)
	if err != nil || found.Refuse() || r.SignedInput != "" { // the job that signed wrote the record
		return found, docs, err
	}
	for _, m := range plan.Moves {
		m.Prepared = prepared[:len(m.Documents)]
		prepared = prepared[len(m.Documents):]
	}
	branch := r.To.Push.To.Branch
	if branch == "" {
		head, err := r.Clone.Head()
		if err != nil {
			return nil, nil, err
		}
		if head.Branch != git.HEAD {
			branch = head.Branch.Short()
		}
	}
	recorded, err := r.Recorder.Record(ctx, plan, branch)
	for _, m := range plan.Moves {
		m.Prepared = nil // thousands of them take much memory
	}
	if refused := exception.RefusalsIn(err); refused != nil {
		return append(found, Refused(refused)...), nil, nil
	}
	return found, recorded, err
}

// checkAgain rejects a plan that was made again on the moved target branch.
func (r *run) checkAgain(plan *Plan) error {
	found, err := r.Checks.against(plan, r.Now)
	if err == nil && len(found) > 0 {
		err = found
	}
	return err
}

// foresee ends a run without a destination with the documents that would be signed.
func (r *run) foresee(plan *Plan, recorded []*exception.Document) error {
	for _, m := range plan.Moves {
		m.Documents = recorded[:len(m.Documents)]
		recorded = recorded[len(m.Documents):]
	}
	return r.made(&Done{Moves: plan.Moves}, nil)
}

// proposed reports whether the branch for the pull request holds this promotion already.
func (r *run) proposed(ctx context.Context, plan *Plan) (bool, error) {
	if r.To.Way != deliver.PullRequest {
		return false, nil
	}
	if r.To.Push.As == "" {
		r.To.Push.As = plan.queue.PullRequestBranch()
	}
	at, there, err := plan.OnBranch(ctx, r.To, r.Verifier)
	if err == nil && there {
		r.result.Commit, r.result.To, r.result.Proposed = at, r.To.Remote(), true
	}
	return there, err
}

// sign signs the documents, or reads the signed documents of another job.
func (r *run) sign(ctx context.Context, plan *Plan, recorded []*exception.Document) (*Promotion, error) {
	if r.SignedInput != "" {
		plan.Refused = nil // already in the result
		promotion, err := plan.TakeOver(r.SignedInput, r.Verifier, r.Now)
		r.leaveOut(Refused(plan.Refused))
		return promotion, err
	}
	if err := r.rehearse(ctx, plan, recorded); err != nil {
		return nil, fmt.Errorf("nothing was signed: %w", err)
	}
	ready, err := r.Signer.Ready(ctx, recorded)
	if err != nil {
		return nil, err
	}
	return r.signBatches(ctx, plan, ready)
}

// The number of documents in a batch. Small batches first, so that the losers of a race sign few.
const (
	firstBatch = 8
	mostBatch  = 64
)

// signBatches signs batches of files. Before each batch it asks for the target branch: a file that
// another run has promoted is not signed any more. It keeps no parsed document of a signed batch.
func (r *run) signBatches(ctx context.Context, plan *Plan, ready []*exception.Document) (*Promotion, error) {
	promotion, moves := plan.promotion(), plan.Moves
	for most := firstBatch; ; most = min(2*most, mostBatch) {
		now, err := r.planAgain(ctx, plan)
		if err != nil {
			return nil, err
		}
		if now != plan {
			plan = now
			r.leaveOut(Refused(plan.refusedOf(moves)))
			moves, ready = plan.still(moves, ready)
		}
		if len(moves) == 0 {
			return promotion, nil
		}
		files, documents := batch(moves, most)
		signed, err := r.Signer.Sign(ctx, ready[:documents])
		if err == nil {
			err = plan.atCommits(moves[:files], signed, r.Verifier, r.Now)
		}
		if err == nil {
			err = promotion.add(moves[:files], signed)
		}
		if err != nil {
			return nil, err
		}
		clear(ready[:documents])
		moves, ready = moves[files:], ready[documents:]
	}
}

// planAgain returns the plan on the target branch if a push would find that moved.
func (r *run) planAgain(ctx context.Context, plan *Plan) (*Plan, error) {
	if r.To.Way != deliver.Push {
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

// still returns the moves that are in the plan, and their documents.
func (p *Plan) still(moves []*Move, docs []*exception.Document) (left []*Move, leftDocs []*exception.Document) {
	planned := map[string]bool{}
	for _, m := range p.Moves {
		planned[m.From] = true
	}
	for _, m := range moves {
		if planned[m.From] {
			left, leftDocs = append(left, m), append(leftDocs, docs[:len(m.Documents)]...)
		}
		docs = docs[len(m.Documents):]
	}
	return left, leftDocs
}

// refusedOf returns the refusals of the moves. Those of signed files are in [Done.Refused].
func (p *Plan) refusedOf(moves []*Move) exception.Refusals {
	return slices.DeleteFunc(slices.Clone(p.Refused), func(r *exception.Refusal) bool {
		return !slices.ContainsFunc(moves, func(m *Move) bool { return m.From == r.Position.File })
	})
}

// batch returns the number of first moves with at most so many documents, at least one move, and the
// number of their documents.
func batch(moves []*Move, most int) (files, documents int) {
	for _, m := range moves {
		if files > 0 && documents+len(m.Documents) > most {
			break
		}
		files, documents = files+1, documents+len(m.Documents)
	}
	return files, documents
}

// rehearse tests the destination before anything is signed. Otherwise a permanent error, such as a
// folder that exists already, would add log entries with every retry. Other errors of the remote
// show only in the push.
func (r *run) rehearse(ctx context.Context, plan *Plan, recorded []*exception.Document) error {
	switch {
	case r.To.Way == deliver.Folder:
		temporary, err := makeBeside(r.To.Folder)
		if err == nil {
			err = os.Remove(temporary)
		}
		return err
	case r.To.Pushes() && r.To.Push.By == nil:
		return nil
	}
	promotion, err := plan.Seal(recorded)
	if err != nil {
		return err
	}
	propose := promotion.propose(&Done{}, "")
	if r.To.Pushes() {
		return r.Clone.RehearsePush(ctx, r.To.Push, propose)
	}
	return r.Clone.Rehearse(ctx, propose)
}

// follow updates the clone to the remote. An earlier run may have pushed and then failed to update
// the clone.
func (r *run) follow(tip git.Hash) {
	if r.To.Way != deliver.Push {
		return
	}
	if err := r.Clone.Follow(r.To.By, r.To.Push, tip); err != nil {
		r.result.Left = fmt.Sprintf("the local branch and the work tree are not at %s: %v", r.To.Push.To, err)
	}
}

// leaveOut records the rejected files.
func (r *run) leaveOut(found Findings) {
	r.result.Findings = append(r.result.Findings, found...)
	for _, f := range found {
		r.left[f.Position.File] = true
	}
	r.result.LeftOut = len(r.left)
}

// made records the result of a promotion. Files that were skipped before the signing stay skipped.
func (r *run) made(done *Done, err error) error {
	if err != nil {
		return err
	}
	for _, s := range r.result.Skipped {
		if !slices.ContainsFunc(done.Skipped, func(o Skip) bool { return o.File == s.File }) {
			done.Skipped = append(done.Skipped, s)
		}
	}
	r.leaveOut(Refused(done.Refused))
	r.result.Moves, r.result.Skipped, r.result.Commit, r.result.Left = done.Moves, done.Skipped, done.Commit, done.Left
	r.result.Documents = 0
	for _, m := range done.Moves {
		r.result.Documents += len(m.Documents)
	}
	if r.To.Pushes() {
		r.result.To = r.To.Remote()
	}
	return nil
}
