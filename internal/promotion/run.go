package promotion

import (
	"cmp"
	"context"
	"errors"
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

	// To is the destination. An empty To.Push.As of a pull request means
	// [PullRequestPrefix] and 12 digits of the source's hash.
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

// Result is the result of a run. It has no moves if everything was rejected or nothing was pending. In a
// dry run, the moves have the documents before signing.
type Result struct {
	Moves   []*Move
	Skipped []Skip
	Commit  git.Hash // zero if nothing was committed
	// Left is the reason if the work tree was unexpectedly not updated.
	Left string
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
	// To is the pushed branch. Proposed reports whether an earlier run has pushed the commit already, for
	// the pull request.
	To       commit.Remote
	Proposed bool
}

// Run promotes the pending exceptions. A rejection is in the result and is not an error. After an
// error nothing was promoted, and the result describes the steps before the error.
func Run(ctx context.Context, job Job) (*Result, error) {
	r := newRun(job)
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

// run is a run, with the parts of the source commit that it read.
type run struct {
	Job
	result *Result
	left   map[string]bool // the rejected files, which all plans leave out

	head        git.Head
	tree        *git.Tree // of the source
	committedAt time.Time // committer time of the source
	files       []*Move   // the pending files, before a plan
	// identities caches the exceptions in signed files by content hash. Files are not parsed again if
	// the remote has moved.
	identities map[git.Hash][]exception.Identity
}

func newRun(job Job) *run {
	return &run{Job: job, result: &Result{}, left: map[string]bool{},
		identities: map[git.Hash][]exception.Identity{}}
}

// run keeps the order of a promotion: plan, sign, deliver. Nothing is signed before all documents
// pass the checks, and nothing is written before everything is signed and verified. Later merges and
// errors of the disk or the remote show only after the signing.
func (r *run) run(ctx context.Context) error {
	if r.SignedInput != "" && r.Verifier == nil {
		return errors.New("no trusted signer is configured to verify the signed files")
	}
	plan, err := r.plan(ctx)
	switch {
	case err != nil:
		return err
	case len(plan.Moves) == 0: // an earlier run may have pushed and then failed to update the clone
		r.result.Left = r.To.Follow(r.Clone, plan.on)
		return nil
	case r.To.Way == deliver.Plan:
		for _, m := range plan.Moves {
			m.Documents = m.Prepared
		}
		r.promoted(plan.Moves, nil)
		return nil
	case r.To.Way == deliver.PullRequest:
		r.To.Push.As = cmp.Or(r.To.Push.As, PullRequestPrefix+r.result.Source.String()[:12])
		at, there, err := r.onBranch(ctx, plan)
		if err == nil && there {
			r.result.Commit, r.result.To, r.result.Proposed = at, r.To.Remote(), true
		}
		if err != nil || there {
			return err
		}
	}
	signed, err := r.sign(ctx, plan)
	if err != nil {
		return err
	}
	return r.deliver(ctx, signed)
}

// leavable returns the errors about files that the next plan leaves out, or nil if this is not enabled, or if it
// does not help.
func (r *run) leavable(plan *Plan, found Findings) Findings {
	found = slices.DeleteFunc(slices.Clone(found), func(f Finding) bool { return f.Severity != shape.Error })
	if !r.KeepGoing || !slices.ContainsFunc(found, func(f Finding) bool { return plan.Has(f.Position.File) }) {
		return nil
	}
	return found
}

// reject records rejected files.
func (r *run) reject(found Findings) {
	r.result.Findings = append(r.result.Findings, found...)
	for _, f := range found {
		r.left[f.Position.File] = true
	}
	r.result.LeftOut = len(r.left)
}
