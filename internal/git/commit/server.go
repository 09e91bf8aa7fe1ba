package commit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/retry"
)

// ErrOtherCommit means that the server made another commit than the requested one. The target branch
// was not moved.
var ErrOtherCommit = errors.New("the server made another commit than the requested one")

// The branches on which the server commits: the prefix, the time and a random end.
const (
	temporaryPrefix = "polex/commit-"
	temporaryTime   = "20060102t150405z"
)

// A run deletes the temporary branches and references that an earlier one left, branches up to a
// number. A younger one may belong to a run that is at work.
const (
	leftAfter = time.Hour
	maxLeft   = 10
)

// RehearsePush returns an error if the server cannot make the commit of a change on the remote
// branch. p.By must be set. It writes nothing to the remote.
func (c *Clone) RehearsePush(ctx context.Context, p Push, propose Propose) error {
	tip, err := c.Fetch(ctx, p.To)
	if err != nil {
		return err
	}
	m, err := c.make(ctx, tip, nobody, propose)
	if err != nil || m.commit.IsZero() {
		return err
	}
	return c.fits(ctx, p, m, tip)
}

// fits returns an error if the server cannot make a commit. The server writes only regular files, and keeps the mode
// of an existing one. A branch of the remote can also take the place of the temporary one.
func (c *Clone) fits(ctx context.Context, p Push, m made, tip git.Hash) error {
	if _, _, err := c.Ask(ctx, Remote{Name: p.To.Name, Branch: temporaryPrefix}); err != nil {
		return err
	}
	tree, err := c.Tree(tip)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(m.left.Write)) {
		if old, err := tree.At(name); err != nil || !old.Absent() && old.Mode != git.Regular {
			return errors.Join(err, fmt.Errorf("write %q: the server cannot change its file mode %s to 100644",
				name, old.Mode))
		}
	}
	return p.By.CheckCommit(m.left.Message, m.left.Write, m.left.Remove)
}

// byServer makes the server commit the change of m on a temporary branch at tip. It compares the
// commit with m, and only then moves or creates the branch to. It returns the commit, also if only the
// move failed. left names a temporary branch that could not be deleted.
func (c *Clone) byServer(ctx context.Context, p Push, to Remote, m made,
	tip git.Hash) (commit git.Hash, left string, err error) {
	if err := c.fits(ctx, p, m, tip); err != nil {
		return git.ZeroHash, "", err
	}
	now := time.Now().UTC()
	if err := c.deleteLeft(ctx, p, now); err != nil {
		return git.ZeroHash, "", err
	}
	at := Remote{Name: p.To.Name, Branch: temporaryPrefix + now.Format(temporaryTime) + "-" +
		strings.ToLower(rand.Text())}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.options.Timing.Limit()/3)
		defer cancel()
		if gone := c.do("delete "+at.String(), func() error { return p.By.DeleteBranch(ctx, at.Branch) }); gone != nil {
			left = fmt.Sprintf("the temporary branch %s may still exist: delete it, or let a run in an hour do it: %v",
				at, gone)
		}
	}()
	if err := c.do("create "+at.String(),
		func() error { return p.By.CreateBranch(ctx, at.Branch, tip.String()) }); err != nil {
		return git.ZeroHash, "", err
	}
	if commit, err = c.committed(ctx, at, m, tip, func() error {
		return p.By.CommitOnBranch(ctx, at.Branch, tip.String(), m.left.Message, m.left.Write, m.left.Remove)
	}); err != nil {
		return git.ZeroHash, "", err
	}
	err = c.do("move "+to.String(), func() error {
		move := p.By.ForwardBranch
		if p.As != "" {
			move = p.By.CreateBranch
		}
		if err := move(ctx, to.Branch, commit.String()); err != nil {
			return err
		}
		// The branch decides here too, and not the answer.
		now, err := c.look(ctx, to)
		if err != nil {
			return err
		}
		if there, err := c.ContainsSince(now, commit, tip); err != nil || there {
			return err
		}
		return fmt.Errorf("the server reported success, and %s is at %s, without the commit", to, now)
	})
	if err != nil && !retry.Unavailable(err) {
		err = &RefusedError{Remote: to, Said: err.Error(), Err: err}
	}
	if err != nil {
		return commit, "", err
	}
	// git push does this too. It is only for people: polex fetches.
	_, _ = c.git.Run(context.Background(), git.Call{}, "update-ref", "--no-deref", "--", to.tracking().String(),
		commit.String())
	return commit, "", nil
}

// look fetches a branch, and returns its commit. It leaves no reference.
func (c *Clone) look(ctx context.Context, at Remote) (git.Hash, error) {
	private := git.ReferenceName(temporary() + "server")
	defer c.updateReferences("forget "+at.String(), git.Call{}, "delete "+private.String()+"\n") //nolint:errcheck // a later run removes it
	return c.fetch(ctx, at, private)
}

// deleteLeft deletes the temporary branches of runs that could not: they were killed, or the server
// was away. It returns an error only if the server is away.
func (c *Clone) deleteLeft(ctx context.Context, p Push, now time.Time) error {
	out, err := c.over(ctx, p.To.Name, "ls-remote", "--quiet", "--end-of-options", p.To.Name,
		"refs/heads/"+temporaryPrefix+"*")
	within, cancel := context.WithTimeout(ctx, c.options.Timing.Limit()/3)
	defer cancel()
	left := 0
	for line := range strings.Lines(out) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), "\trefs/heads/")
		rest, ours := strings.CutPrefix(name, temporaryPrefix)
		stamp, _, _ := strings.Cut(rest, "-")
		made, parseErr := time.Parse(temporaryTime, stamp)
		if !ours || parseErr != nil || now.Sub(made) < leftAfter {
			continue
		}
		if left++; left > maxLeft || err != nil {
			break
		}
		err = c.do("delete "+p.To.Name+"/"+name, func() error { return p.By.DeleteBranch(within, name) })
	}
	if retry.Unavailable(err) {
		return err
	}
	return nil
}

// committed makes the server commit on a branch, and returns the commit if it has the parent, tree
// and message of m. The branch decides, and not the answer, which may be lost or false.
func (c *Clone) committed(ctx context.Context, at Remote, m made, tip git.Hash,
	commitOn func() error) (git.Hash, error) {
	committed := c.do("commit on "+at.String(), commitOn)
	if ctx.Err() != nil {
		return git.ZeroHash, ctx.Err()
	}
	commit, err := c.look(ctx, at)
	switch {
	case err != nil:
		return git.ZeroHash, errors.Join(committed, err)
	case committed != nil && commit == tip:
		return git.ZeroHash, committed
	case commit == tip:
		return git.ZeroHash, fmt.Errorf("%w: none on %s", ErrOtherCommit, at)
	}
	return commit, c.isServers(commit, m.commit)
}

// isServers returns [ErrOtherCommit] if a commit differs from ours by more than author, committer
// and signature.
func (c *Clone) isServers(commit, ours git.Hash) error {
	found, err := c.Repository.Commit(commit)
	if err != nil {
		return err
	}
	want, err := c.Repository.Commit(ours)
	if err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		same bool
	}{
		{"parent", slices.Equal(found.Parents, want.Parents)}, {"tree", found.Tree == want.Tree},
		{"message", strings.TrimRight(found.Message, "\n") == strings.TrimRight(want.Message, "\n")},
	} {
		if !part.same {
			return fmt.Errorf("%w: commit %s has another %s", ErrOtherCommit, commit, part.name)
		}
	}
	return nil
}

// IsCommitOf reports whether a commit is the one that a push of a change makes on base, at any time: parent,
// tree and message are equal. Without p.By, author and committer are equal too, and it has no signature. The
// comparison writes objects that no reference uses.
func (c *Clone) IsCommitOf(ctx context.Context, commit, base git.Hash, by Author, p Push,
	propose Propose) (bool, error) {
	found, err := c.Repository.Commit(commit)
	if err != nil {
		return false, err
	}
	by.When, by.Sign = found.Author.Local(), false
	m, err := c.make(ctx, base, by, propose)
	if err != nil || m.commit.IsZero() || p.By == nil {
		return err == nil && m.commit == commit, err
	}
	err = c.isServers(commit, m.commit)
	if errors.Is(err, ErrOtherCommit) {
		return false, nil
	}
	return err == nil, err
}
