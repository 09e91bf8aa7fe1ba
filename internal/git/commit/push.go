package commit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/internal/git"
)

// DefaultAttempts is how often a push is tried when nothing else is said.
const DefaultAttempts = 10

// Push says where a change is pushed to, and how often that is tried.
type Push struct {
	// To is where the change is made: the commit is made on the tip of this branch.
	To Remote
	// As is the branch that the commit is pushed to, where that is another one: a
	// new branch of the same remote, for a pull request. The local clone stays as it
	// is then.
	As string
	// Stay leaves the local branch and the work tree as they are.
	Stay bool
	// Instead is the commit of the local branch whose change is made anew, if it is
	// one that was never pushed: the local branch may be there, and leaves it.
	Instead plumbing.Hash
	// Attempts is how often it is tried while others push; 0 means
	// [DefaultAttempts].
	Attempts int
	// Pause waits before the next attempt, the first with 1. The zero value does
	// not wait.
	Pause func(ctx context.Context, attempt int) error
}

// ErrOutrun says that the remote moved before each push.
var ErrOutrun = errors.New("the remote branch moved again before each push")

// Push fetches, commits a change on what the remote has and pushes it, without
// force. When the remote has moved, it fetches and proposes the change again.
// Nothing local changes before the remote has taken the commit; then the branch
// and the work tree follow, if they are where that branch was. Where they cannot, the
// result says why, and is no error: the change has been pushed.
func (c *Clone) Push(ctx context.Context, by Author, p Push, propose Propose) (Result, error) {
	tip, err := c.Fetch(ctx, p.To)
	if err != nil {
		return Result{}, err
	}
	attempts := p.Attempts
	if attempts <= 0 {
		attempts = DefaultAttempts
	}
	for attempt := 1; ; attempt++ {
		m, err := c.make(ctx, tip, by, propose)
		if err != nil {
			return Result{Change: m.change}, err
		}
		result := Result{Commit: m.commit, Change: m.change}
		landed := tip
		if !m.commit.IsZero() {
			var moved bool
			if moved, tip, err = c.attempt(ctx, p, m.commit, tip); err != nil {
				return Result{Change: m.change}, err
			}
			if moved && attempt >= attempts {
				return Result{Change: m.change}, fmt.Errorf("%w (%d times)", ErrOutrun, attempts)
			}
			if moved {
				if p.Pause != nil {
					if err := p.Pause(ctx, attempt); err != nil {
						return Result{Change: m.change}, err
					}
				}
				continue
			}
			landed = m.commit
		}
		if p.As == "" && !p.Stay {
			if result.Left, err = c.follow(p, landed, by); err != nil && !m.commit.IsZero() {
				// The remote has it, which is what was asked for: a caller that is told of an
				// error would believe that it has not.
				result.Left, err = fmt.Sprintf("the local branch and the work tree do not have it yet: %v: the next run brings them up to date, or git pull", err), nil
			}
		}
		return result, err
	}
}

// attempt pushes a commit once. It reports whether the remote has moved, and
// where to.
func (c *Clone) attempt(ctx context.Context, p Push, commit, tip plumbing.Hash) (moved bool, now plumbing.Hash, err error) {
	to := p.To
	if p.As != "" {
		to.Branch = p.As
	}
	pushErr := c.send(ctx, commit, to)
	if pushErr == nil {
		return false, commit, nil
	}
	if ctx.Err() != nil {
		return false, tip, ctx.Err()
	}
	if p.As != "" {
		return false, tip, refused(to, pushErr)
	}
	// Whatever Git said, what the remote has now tells the rest: the connection may
	// have ended after the push was taken.
	if now, err = c.Fetch(ctx, p.To); err != nil {
		return false, tip, fmt.Errorf("%w; and it could not be asked whether it has the commit: %w", refused(to, pushErr), err)
	}
	// The commit was made on the tip, and cannot be before it.
	there, err := c.ContainsSince(now, commit, tip)
	switch {
	case err != nil:
		return false, now, err
	case there:
		return false, now, nil
	case now == tip:
		return false, now, refused(to, pushErr)
	default:
		return true, now, nil
	}
}

// Follow brings the local branch and the work tree to where a branch of a remote was
// when it was last fetched, if nothing is in the way: a run before may have pushed, and
// been kept from it. What it leaves on purpose is no error.
func (c *Clone) Follow(by Author, p Push, tip plumbing.Hash) error {
	_, err := c.follow(p, tip, by)
	return err
}

// follow brings the branch and the work tree to where the remote branch is by
// now. What it cannot do it leaves, and says why: the change has been pushed.
func (c *Clone) follow(p Push, commit plumbing.Hash, by Author) (left string, err error) {
	head, err := c.Head()
	if err != nil {
		return "", err
	}
	if head.Commit == commit {
		return "", nil
	}
	if mine, err := c.Remote(Remote{}); err != nil || mine != p.To {
		return fmt.Sprintf("the work tree is not on %s, and stays as it is", p.To), nil //nolint:nilerr // it is not on it
	}
	behind, err := c.Contains(commit, head.Commit)
	if err != nil && !errors.Is(err, git.ErrHistory) {
		return "", err
	}
	if !behind && head.Commit != p.Instead {
		return "the local branch has commits of its own, and stays as it is", nil
	}
	author, err := c.Signature(by)
	if err != nil {
		return "", err
	}
	j := &journal{head: head, commit: commit, by: author, what: "polex: follow " + p.To.String()}
	err = c.apply(j)
	if errors.Is(err, ErrInTheWay) {
		return fmt.Sprintf("the work tree stays as it is: %v: git pull brings it up to date", err), nil
	}
	return "", err
}

// Backoff returns pauses that grow with each attempt, half of each by chance, so
// that those who met once do not meet again and again. random returns a number
// from 0 up to n.
func Backoff(first, most time.Duration, random func(n int64) int64) func(context.Context, int) error {
	return func(ctx context.Context, attempt int) error {
		pause := most
		if attempt < 16 {
			pause = min(most, first<<(attempt-1))
		}
		pause = pause/2 + time.Duration(random(int64(pause/2)+1))
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return nil
		}
	}
}
