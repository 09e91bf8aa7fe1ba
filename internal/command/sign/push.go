package sign

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/commitflags"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promote"
)

// findRemote finds the target branch, where the promotion is pushed to. Only a clone
// without any remote has none.
func (p *promotion) findRemote() error {
	if !p.options.pushes() && p.options.Remote == "" && p.options.Branch == "" {
		if has, err := p.clone.HasRemote(); err != nil || !has {
			return err
		}
	}
	var err error
	p.push, err = p.options.To(p.clone)
	return err
}

// target returns the commit that the queue is planned on.
func (p *promotion) target(ctx context.Context) (plumbing.Hash, error) {
	if p.push.To == (commit.Remote{}) {
		head, err := p.clone.Head()
		return head.Commit, err
	}
	return promote.Target(ctx, p.clone, p.push.To, !p.options.pushes() && p.options.sealedOutput == "")
}

// pushedTo is the branch that the commit goes to.
func (p *promotion) pushedTo() commit.Remote {
	to := p.push.To
	if p.push.As != "" {
		to.Branch = p.push.As
	}
	return to
}

// proposed reports whether the branch for the pull request holds this promotion already.
// Without a trust policy nothing says whose signatures those are.
func (p *promotion) proposed(ctx context.Context, plan *promote.Plan) (plumbing.Hash, bool, error) {
	verifier, err := p.verifier()
	if err != nil {
		return plumbing.ZeroHash, false, err
	}
	return plan.OnBranch(ctx, p.pushedTo(), p.author, verifier)
}

// onBranch ends a run whose pull request is there already.
func (p *promotion) onBranch(there plumbing.Hash, err error) error {
	if errors.Is(err, promote.ErrBranchTaken) {
		return cli.Hint(err, "nothing was signed or pushed; find out whose branch that is, then delete it, or name another with --pull-request-branch")
	}
	if errors.Is(err, commit.ErrBranchBelow) {
		return cli.Hint(err, "nothing was signed or pushed; name another branch with --pull-request-branch")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.streams.Out, "%s has it already, as %s\n", p.pushedTo(), there)
	return err
}

// pushHint says what to do about a promotion that did not come through.
func pushHint(err error) error {
	switch {
	case errors.Is(err, promote.ErrNotContained):
		return cli.Hint(err, "name a --source that the branch has, or bring the clone up to date")
	case errors.Is(err, promote.ErrWithdrawn):
		return cli.Hint(err, "work in a fresh clone, or take that commit back (git reset --keep to the target branch); nothing was changed")
	case errors.Is(err, promote.ErrUnpushed):
		return cli.Hint(err, "push it yourself, or work in a fresh clone; nothing was changed")
	}
	return commitflags.Hint(err, " or use --pull-request-mode")
}
