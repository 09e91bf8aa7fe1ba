package main

import (
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/cmd/internal/cli"
	"github.com/polex-dev/polex/cmd/internal/commitflags"
	"github.com/polex-dev/polex/pkg/gitchange"
	"github.com/polex-dev/polex/pkg/promote"
)

// findRemote says where the promotion is pushed to.
func (p *promotion) findRemote() error {
	var err error
	if p.push, err = p.options.To(p.clone); err != nil {
		return err
	}
	if name := p.options.pullRequestName; name != "" {
		_, err = p.clone.Remote(gitchange.Remote{Name: p.push.To.Name, Branch: name})
	}
	if errors.Is(err, gitchange.ErrNoRemote) {
		return &cli.UsageError{Err: err, Hint: "give --pull-request-branch a plain name"}
	}
	return err
}

// pushedTo is the branch that the commit goes to.
func (p *promotion) pushedTo() gitchange.Remote {
	to := p.push.To
	if p.push.As != "" {
		to.Branch = p.push.As
	}
	return to
}

// onBranch ends a run whose pull request is there already.
func (p *promotion) onBranch(commit plumbing.Hash, err error) error {
	if errors.Is(err, promote.ErrBranchTaken) {
		return cli.Hint(err, "delete that branch, or name another with --pull-request-branch")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.streams.Out, "%s has it already, as %s\n", p.pushedTo(), commit)
	return err
}

// pushHint says what to do about a promotion that did not come through.
func pushHint(err error) error {
	switch {
	case errors.Is(err, promote.ErrNotContained):
		return cli.Hint(err, "name a --source that the branch has, or bring the clone up to date")
	case errors.Is(err, promote.ErrUnpushed):
		return cli.Hint(err, "push it yourself, or work in a fresh clone; nothing was changed")
	}
	return commitflags.Hint(err, " or use --pull-request-mode")
}
