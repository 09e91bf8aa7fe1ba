package promote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promote/deliver"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/verify"
)

// Job says what one run promotes, by which rules, and where that goes.
type Job struct {
	Options
	Clone *commit.Clone
	Now   time.Time // lifetimes count from it

	// To is where the promotion goes. To.Push.To is the target branch, also where nothing is
	// pushed; only a clone without a remote has none.
	To deliver.To
	// PullRequest pushes to a new branch, To.Push.As. "" is [Queue.PullRequestBranch].
	PullRequest bool
	// DryRun stops before anything is signed, or written anywhere.
	DryRun bool
	// SealedOutput is a folder to write the sealed files to, in place of To; SealedInput is one
	// to take them from, in place of Sign. See [Promotion.HandOver] and [Plan.TakeOver].
	SealedOutput, SealedInput string

	Checks Checks
	// Verifier verifies by the trust policy. It is nil where none names a signer, and then
	// nothing is taken from SealedInput, nor from a branch.
	Verifier *verify.Verifier
	// Record returns the documents of a plan with the record of their review. branch is where
	// the requests were merged, or "" where that is not known.
	Record func(ctx context.Context, plan *Plan, branch string) ([]*exception.Document, error)
	// Sign returns the documents sealed, in their order. [exception.Refusals] refuse them.
	Sign func(ctx context.Context, docs []*exception.Document) ([]*exception.Document, error)
}

// Result is what became of a run. Where it refused everything, or nothing was pending, it has
// no moves.
type Result struct {
	// Landed is how many promotions of earlier runs were pushed first.
	Landed int
	// Moves have their sealed documents; those of a dry run are as they would be signed.
	Moves   []*Move
	Skipped []Skip
	// OtherKinds is how many pending files hold documents of other kinds alone. They stay.
	OtherKinds int
	// Documents is how many were to be signed, or were.
	Documents int
	// Findings are what was refused, and warnings. With [Options.KeepGoing], files that were
	// refused were left out: LeftOut is how many.
	Findings Findings
	LeftOut  int
	// Commit is zero where nothing was committed. To is the branch that it was pushed to;
	// Proposed says that a run before did that, for the pull request.
	Commit   plumbing.Hash
	To       commit.Remote
	Proposed bool
	// Left says why the work tree was left where it was, where that does not follow from what
	// was asked for.
	Left string
}

// Run promotes what is pending. A refusal is in the result and is no error. With an error,
// nothing was promoted, and the result says what came before.
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

// run holds the order of a promotion: nothing is signed before all checks of the documents
// have passed, and nothing is written before all of it is signed and verified. What is merged
// meanwhile, and what the disk or the remote refuses, comes to light after the signing.
func (r *run) run(ctx context.Context) error {
	if r.SealedInput != "" && r.Verifier == nil {
		return errors.New("no trusted signer is configured to verify the sealed files by")
	}
	if err := r.land(ctx); err != nil {
		return err
	}
	queue, err := Open(r.Clone, r.Options)
	if err != nil {
		return err
	}
	r.result.OtherKinds = queue.others
	on, err := r.target(ctx)
	if err != nil {
		return err
	}
	plan, recorded, err := r.plan(ctx, queue, on)
	if err != nil {
		return err
	}
	if len(plan.Moves) == 0 {
		r.follow(on)
		return nil
	}
	if r.DryRun {
		return r.foresee(plan, recorded)
	}
	if there, err := r.proposed(ctx, plan); err != nil || there {
		return err
	}
	sealed, err := r.sealed(ctx, plan, recorded)
	if err != nil {
		return err
	}
	promotion, err := plan.Seal(sealed)
	if err != nil {
		return err
	}
	promotion.check = r.checkAgain
	if r.SealedOutput != "" {
		return r.made(&Done{Moves: promotion.Moves()}, promotion.HandOver(r.SealedOutput))
	}
	return r.made(promotion.Make(ctx, r.To))
}

// straight reports whether the run pushes to the target branch itself, so that the clone is to
// be where that branch is.
func (r *run) straight() bool { return r.To.Way == deliver.Push && !r.PullRequest && !r.DryRun }

// land pushes what runs before this one have committed in the clone and not pushed.
func (r *run) land(ctx context.Context) (err error) {
	if r.straight() {
		r.result.Landed, err = Land(ctx, r.Clone, r.Options, r.To.Push, r.To.By.Sign)
	}
	return err
}

// target returns the commit that the queue is planned on: what the target branch has now.
func (r *run) target(ctx context.Context) (plumbing.Hash, error) {
	if r.To.Push.To == (commit.Remote{}) {
		head, err := r.Clone.Head()
		return head.Commit, err
	}
	return Target(ctx, r.Clone, r.To.Push.To, r.To.Way != deliver.Push && r.SealedOutput == "")
}

// plan plans and checks the promotion, and returns the documents as they are to be signed.
// With [Options.KeepGoing] it leaves out each file that is refused, until nothing refuses the
// rest.
func (r *run) plan(ctx context.Context, queue *Queue, on plumbing.Hash) (*Plan, []*exception.Document, error) {
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
		case !r.KeepGoing || !slices.ContainsFunc(found, func(f Finding) bool { return f.Severity == shape.Error && plan.Has(f.Position.File) }):
			return nil, nil, found // leaving out files would mend nothing
		}
		found = slices.DeleteFunc(found, func(f Finding) bool { return f.Severity != shape.Error })
		for _, f := range found {
			queue.left[f.Position.File] = true
		}
		r.leaveOut(found)
	}
}

// check returns what refuses documents of a plan before they are signed, and the documents
// with the record of their review, where nothing does.
func (r *run) check(ctx context.Context, plan *Plan) (Findings, []*exception.Document, error) {
	docs := plan.Documents()
	if len(docs) == 0 {
		return nil, nil, nil
	}
	found, err := r.Checks.against(plan, r.Now)
	if err != nil {
		return nil, nil, err
	}
	alone, err := r.Checks.Check(docs, r.Now)
	found = append(found, alone...)
	if err != nil || found.Refuse() || r.SealedInput != "" { // the job that signed made the record
		return found, docs, err
	}
	branch := r.To.Push.To.Branch
	if branch == "" {
		head, err := r.Clone.Head()
		if err != nil {
			return nil, nil, err
		}
		if head.Branch != plumbing.HEAD {
			branch = head.Branch.Short()
		}
	}
	recorded, err := r.Record(ctx, plan, branch)
	if refused := exception.RefusalsIn(err); refused != nil {
		return append(found, Refused(refused)...), nil, nil
	}
	return found, recorded, err
}

// checkAgain refuses a plan that was made anew, on what the target branch has by now.
func (r *run) checkAgain(plan *Plan) error {
	found, err := r.Checks.against(plan, r.Now)
	if err == nil && len(found) > 0 {
		err = found
	}
	return err
}

// foresee ends a dry run with what would be signed.
func (r *run) foresee(plan *Plan, recorded []*exception.Document) error {
	prepared, err := sign.Prepare(recorded, r.Now, r.Checks.Rules)
	if err != nil {
		return err
	}
	promotion, err := plan.Seal(prepared)
	if err != nil {
		return err
	}
	return r.made(&Done{Moves: promotion.Moves()}, nil)
}

// proposed reports whether the branch for the pull request holds this promotion already.
func (r *run) proposed(ctx context.Context, plan *Plan) (bool, error) {
	if !r.PullRequest {
		return false, nil
	}
	if r.To.Push.As == "" {
		r.To.Push.As = plan.queue.PullRequestBranch()
	}
	at, there, err := plan.OnBranch(ctx, r.To.Remote(), r.To.By, r.Verifier)
	if err == nil && there {
		r.result.Commit, r.result.To, r.result.Proposed = at, r.To.Remote(), true
	}
	return there, err
}

// sealed has the documents signed, or takes them from the job that did that.
func (r *run) sealed(ctx context.Context, plan *Plan, recorded []*exception.Document) ([]*exception.Document, error) {
	if r.SealedInput == "" {
		if err := r.rehearse(ctx, plan, recorded); err != nil {
			return nil, fmt.Errorf("nothing was signed: %w", err)
		}
		return r.Sign(ctx, recorded)
	}
	plan.Refused = nil // those are on the result
	sealed, err := plan.TakeOver(r.SealedInput, r.Verifier, r.Now)
	r.leaveOut(Refused(plan.Refused))
	return sealed, err
}

// rehearse meets what would keep the promotion from where it goes, with every retry, before it
// is signed and logged. What a remote refuses comes to light only when it is pushed.
func (r *run) rehearse(ctx context.Context, plan *Plan, recorded []*exception.Document) error {
	switch {
	case r.SealedOutput != "":
		temporary, err := makeBeside(r.SealedOutput)
		if err == nil {
			err = os.Remove(temporary)
		}
		return err
	case r.To.Way == deliver.Push:
		return nil
	}
	promotion, err := plan.Seal(recorded)
	if err != nil {
		return err
	}
	return r.Clone.Rehearse(ctx, promotion.propose(&Done{}, ""))
}

// follow completes a run before this one that pushed, and was kept from bringing the clone to
// where the remote is. There is nothing else that this run would do.
func (r *run) follow(tip plumbing.Hash) {
	if !r.straight() {
		return
	}
	if err := r.Clone.Follow(r.To.By, r.To.Push, tip); err != nil {
		r.result.Left = fmt.Sprintf("the local branch and the work tree are not at %s: %v", r.To.Push.To, err)
	}
}

// leaveOut notes why files are left out.
func (r *run) leaveOut(found Findings) {
	r.result.Findings = append(r.result.Findings, found...)
	for _, f := range found {
		r.left[f.Position.File] = true
	}
	r.result.LeftOut = len(r.left)
}

// made notes what was done, unless that failed. What was skipped before anything was signed
// stays so.
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
	if r.To.Way == deliver.Push {
		r.result.To = r.To.Remote()
	}
	return nil
}
