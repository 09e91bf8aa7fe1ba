package commit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/forge"
	"github.com/polex-dev/polex/internal/git"
)

// The attempts to move a branch while others move it, and the pauses between pushes, which double.
const (
	attempts   = 10
	firstPause = 200 * time.Millisecond
	mostPause  = 15 * time.Second
)

// Push is the target of a push.
type Push struct {
	// To is the target branch: the commit is made on its tip.
	To Remote
	// As is another branch to push the commit to, if not empty: a new branch of the same remote,
	// for a pull request. The local clone then stays unchanged.
	As string
	// By makes and signs the commit and moves the branch instead of git push, if not nil. Its answers are
	// untrusted: the commit is fetched and compared.
	By forge.Commits
}

// ErrOutrun means that the remote branch moved before each push.
var ErrOutrun = errors.New("the remote branch moved again before each push")

// Push fetches the branch, commits a change on its tip and pushes without force. If the remote has
// moved, it fetches and proposes the change again. Nothing local changes before the remote accepts
// the commit. Then the local branch and the work tree follow, if they are on that branch. If they
// cannot follow, the result gives the reason without an error, because the change is pushed.
func (c *Clone) Push(ctx context.Context, by Author, p Push, propose Propose) (Result, error) {
	tip, err := c.Fetch(ctx, p.To)
	if err != nil {
		return Result{}, err
	}
	var left []string
	for attempt := 1; ; attempt++ {
		m, err := c.make(ctx, tip, by, propose)
		if err != nil {
			return Result{}, err
		}
		result, landed := Result{}, tip
		if !m.commit.IsZero() {
			var sent sent
			if sent, err = c.attempt(ctx, p, m, tip); sent.left != "" {
				left = append(left, sent.left)
			}
			switch outrun := err == nil && sent.landed.IsZero(); {
			case outrun && attempt == attempts:
				err = fmt.Errorf("%w (%d times)", ErrOutrun, attempts)
			case outrun:
				err = c.options.Timing.Pause(ctx, min(mostPause, firstPause<<(attempt-1)), 0)
			}
			if err != nil && len(left) > 0 {
				err = fmt.Errorf("%w; %s", err, strings.Join(left, "; "))
			}
			if err != nil {
				return Result{}, err
			}
			if tip = sent.tip; sent.landed.IsZero() {
				continue
			}
			result.Commit, landed = sent.landed, sent.landed
		}
		if p.As == "" {
			var behind string
			if behind, err = c.follow(p, landed, by); err != nil && !m.commit.IsZero() {
				// The push succeeded. With an error, a caller would believe that it failed.
				behind, err = fmt.Sprintf("the local branch and the work tree do not have it yet: %v: the next run "+
					"updates them, or git pull", err), nil
			}
			if behind != "" {
				left = append(left, behind)
			}
		}
		result.Left = strings.Join(left, "; ")
		return result, err
	}
}

// sent is the result of one push attempt.
type sent struct {
	landed git.Hash // the commit on the remote; zero if the remote branch has moved before
	tip    git.Hash // of the remote branch, if it has moved
	left   string   // see [Result.Left]
}

// attempt pushes a commit once.
func (c *Clone) attempt(ctx context.Context, p Push, m made, tip git.Hash) (s sent, pushErr error) {
	to, onto := p.To, tip
	if p.As != "" {
		to.Branch, onto = p.As, git.ZeroHash
	}
	s.landed = m.commit
	if p.By == nil {
		pushErr = c.send(ctx, m.commit, to, onto)
	} else if s.landed, s.left, pushErr = c.byServer(ctx, p, to, m, tip); s.landed.IsZero() {
		return s, pushErr // it has not tried to move the branch
	}
	if pushErr == nil {
		return s, nil
	}
	if ctx.Err() != nil {
		return s, ctx.Err()
	}
	if p.As != "" {
		return s, refused(to, pushErr)
	}
	// Regardless of the message, the state of the remote decides: the connection may have ended after
	// the remote accepted the push.
	now, err := c.Fetch(ctx, p.To)
	if err != nil {
		return s, fmt.Errorf("%w; and polex cannot tell whether the remote has the commit: %w",
			refused(to, pushErr), err)
	}
	// The commit has the tip as parent, so it cannot be older.
	there, err := c.ContainsSince(now, s.landed, tip)
	switch {
	case err != nil || there:
		return s, err
	case now == tip:
		return s, refused(to, pushErr)
	default:
		return sent{tip: now, left: s.left}, nil
	}
}

// Follow updates the local branch and the work tree to the last fetched tip of a remote branch. An
// earlier run may have pushed without this update. A conflict that prevents the update is not an
// error.
func (c *Clone) Follow(by Author, p Push, tip git.Hash) error {
	_, err := c.follow(p, tip, by)
	return err
}

// follow updates the branch and the work tree to the commit of the remote branch. If it cannot, it
// returns the reason in left and no error.
func (c *Clone) follow(p Push, commit git.Hash, by Author) (left string, err error) {
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
	if !behind {
		return "the local branch has other commits, and stays as it is", nil
	}
	author, err := c.Signature(by)
	if err != nil {
		return "", err
	}
	left, err = c.move(head, commit, author, "polex: follow "+p.To.String())
	if errors.Is(err, ErrInTheWay) {
		return fmt.Sprintf("the work tree stays as it is: %v: git pull updates it", err), nil
	}
	return left, err
}
