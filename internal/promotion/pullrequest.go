package promotion

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"

	"github.com/polex-dev/polex/internal/forge"
	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/promotion/deliver"
	"github.com/polex-dev/polex/internal/retry"
	"github.com/polex-dev/polex/pkg/exception"
)

// ErrBranchTaken means that the branch for the pull request exists with another commit than the one
// of this promotion.
var ErrBranchTaken = errors.New("the branch for the pull request exists with different content")

// PullRequestPrefix begins the default name of a branch for a pull request. 12 digits of the source's
// hash follow.
const PullRequestPrefix = "polex/signed-"

// onBranch reports whether a branch of a remote holds this promotion already. Then a repeated run
// does not sign again.
//
// Anybody may have pushed the branch. Its commit must equal the commit of this promotion: the same
// parent, tree, author and message. Signatures and times differ in each run, so they come from the
// branch. If a server commits (To.Push.By), its author and signature do not count. Each signed document must verify
// and match the request, as in [run.takeOver].
//
// A branch with any other content is [ErrBranchTaken]. onBranch never overwrites it, because it can
// be the work of another person. An existing branch is also [ErrBranchTaken] if To.By signs commits
// or Verifier is nil.
func (r *run) onBranch(ctx context.Context, plan *Plan) (git.Hash, bool, error) {
	branch, by := r.To.Remote(), r.To.By
	_, there, err := r.Clone.Ask(ctx, branch)
	if err != nil || !there {
		return git.ZeroHash, false, err
	}
	tip, err := r.Clone.Fetch(ctx, branch)
	if err != nil {
		return tip, false, err
	}
	taken := func(why string) (git.Hash, bool, error) {
		return tip, false, fmt.Errorf("%s: %w: commit %s: %s", branch, ErrBranchTaken, tip, why)
	}
	switch {
	case by.Sign:
		return taken("polex cannot make a signed commit again to compare it")
	case r.Verifier == nil:
		return taken("no trusted signer configured")
	}
	tree, err := r.Clone.Tree(tip)
	if err != nil {
		return tip, false, err
	}
	signed, refusals, err := plan.accept(func(name string) ([]byte, error) { return readSigned(tree, name) })
	switch {
	case err != nil:
		return tip, false, err
	case len(refusals) > 0:
		return taken(refusals.Error())
	}
	signedOffBy, err := deliver.SignedOffBy(r.Clone, by)
	if err != nil {
		return tip, false, err
	}
	same, err := r.Clone.IsCommitOf(ctx, tip, plan.on, by, r.To.Push, r.propose(signed, signedOffBy, &Result{}))
	if err == nil && !same {
		return taken(fmt.Sprintf("it is not the commit that this promotion makes on %s", plan.on))
	}
	return tip, same, err
}

// readSigned returns the content of a signed file in a tree, or an *[exception.Refusal].
func readSigned(tree *git.Tree, name string) ([]byte, error) {
	at := exception.Position{File: name}
	entry, err := tree.Find(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, refuse(at, ReasonNotTheRequest, "it does not exist")
	case err != nil:
		return nil, err
	case entry.Mode != git.Regular:
		return nil, refuse(at, ReasonNotTheRequest, "it is not a regular file")
	}
	content, err := tree.Read(entry)
	if errors.Is(err, git.ErrTooLarge) {
		return nil, refuse(at, ReasonNotTheRequest, "it has more than %d bytes", git.MaxFile)
	}
	return content, err
}

// proposalBranch matches the default branches for pull requests, with the start of the source's hash.
var proposalBranch = regexp.MustCompile("^" + PullRequestPrefix + "([0-9a-f]{12})$")

// ErrNotProposed means that the commit is on its branch, and that the forge did not open the pull request.
var ErrNotProposed = errors.New("its pull request is not open")

// Propose opens or updates the pull request of the branch that a run with [Job.PullRequests] has pushed,
// and closes the ones that it replaces: those for an older commit. If nothing is pending any more, it
// closes all of them. It calls tell for each pull request.
func (r *Result) Propose(ctx context.Context, job Job, tell func(string)) error {
	base := job.To.Push.To.Branch
	switch {
	case job.PullRequests == nil || r.Commit.IsZero() && r.Findings.Refuse():
		return nil
	case !r.Commit.IsZero():
		commit, err := job.Clone.Repository.Commit(r.Commit)
		if err != nil {
			return err
		}
		pull, err := job.PullRequests.Propose(ctx, forge.NewProposal(
			"The signed exceptions of reviewed requests. The commit moves each request to its signed file:",
			commit.Message, r.To.Branch, base))
		if err != nil {
			return fmt.Errorf("the commit is on %s, and %w: %w", r.To, ErrNotProposed, err)
		}
		tell("pull request " + pull.URL)
	case r.Documents > 0 || len(r.Skipped) > 0 || r.LeftOut > 0:
		return nil // a later run decides
	}
	pulls, err := job.PullRequests.Open(ctx, base, PullRequestPrefix)
	if err != nil {
		return fmt.Errorf("look for replaced pull requests: %w", err)
	}
	for _, pull := range pulls {
		source := proposalBranch.FindStringSubmatch(pull.Branch)
		if source == nil || pull.Branch == r.To.Branch {
			continue
		}
		// A run for an older commit can end after one for a newer commit.
		older, err := job.PullRequests.IsAncestor(ctx, source[1], r.Source.String())
		if older && err == nil {
			err = job.PullRequests.Close(ctx, pull.Number)
		} else if !retry.Unavailable(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("close the replaced pull request %d: %w", pull.Number, err)
		}
		tell(fmt.Sprintf("closed the pull request %d of an earlier promotion", pull.Number))
	}
	return nil
}
