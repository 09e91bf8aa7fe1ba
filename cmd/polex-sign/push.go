package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/cmd/internal/cli"
	"github.com/polex-dev/polex/pkg/gitchange"
	"github.com/polex-dev/polex/pkg/promote"
)

// The pauses between attempts to push, while others push.
const (
	firstPause = 200 * time.Millisecond
	mostPause  = 15 * time.Second
)

// findRemote says where the promotion is pushed to.
func (p *promotion) findRemote() error {
	to, err := p.clone.Remote(gitchange.Remote{Name: p.options.remote, Branch: p.options.branch})
	if name := p.options.pullRequestName; err == nil && name != "" {
		_, err = p.clone.Remote(gitchange.Remote{Name: to.Name, Branch: name})
	}
	if errors.Is(err, gitchange.ErrNoRemote) {
		return &cli.UsageError{Err: err, Hint: "name it with --remote and --branch"}
	}
	p.push = gitchange.Push{To: to, Attempts: p.options.attempts,
		Pause: gitchange.Backoff(firstPause, mostPause, rand.Int64N)}
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
	var refused *gitchange.RefusedError
	switch {
	case errors.Is(err, gitchange.ErrOutrun):
		return cli.Hint(err, "nothing was changed; run it again when fewer push at once")
	case errors.As(err, &refused):
		return cli.Hint(err, "nothing was changed; if the branch is protected, let this identity push to it or use --pull-request-mode")
	case errors.Is(err, promote.ErrNotContained):
		return cli.Hint(err, "name a --source that the branch has, or bring the clone up to date")
	case errors.Is(err, promote.ErrUnpushed):
		return cli.Hint(err, "push it yourself, or work in a fresh clone; nothing was changed")
	case errors.Is(err, gitchange.ErrMoved), errors.Is(err, gitchange.ErrInTheWay):
		return cli.Hint(err, "nothing was changed")
	}
	return err
}
