package gitchange

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// Remote is a branch of a remote.
type Remote struct {
	Name   string // of the remote, as Git's configuration has it
	Branch string // without refs/heads/
}

// String returns "name/branch".
func (r Remote) String() string { return r.Name + "/" + r.Branch }

func (r Remote) reference() plumbing.ReferenceName { return plumbing.NewBranchReferenceName(r.Branch) }

func (r Remote) tracking() plumbing.ReferenceName {
	return plumbing.NewRemoteReferenceName(r.Name, r.Branch)
}

// ErrNoRemote says that it cannot be told which branch of which remote is meant.
var ErrNoRemote = errors.New("the target branch is not known")

var plainRemote = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/-]*$`)

// Remote completes what is left out of r: the branch of the work tree, and the
// remote that it follows, or origin. It returns [ErrNoRemote] when there is no
// such remote, or no branch.
func (c *Clone) Remote(r Remote) (Remote, error) {
	head, err := c.Head()
	if err != nil {
		return r, err
	}
	cfg, err := c.repository.Config()
	if err != nil {
		return r, fmt.Errorf("read Git configuration: %w", err)
	}
	followed := cfg.Branches[head.Branch.Short()]
	if r.Name == "" {
		r.Name = "origin"
		if followed != nil && followed.Remote != "" {
			r.Name = followed.Remote
		}
	}
	if r.Branch == "" {
		switch {
		case followed != nil && followed.Remote == r.Name && followed.Merge.IsBranch():
			r.Branch = followed.Merge.Short()
		case head.Branch.IsBranch():
			r.Branch = head.Branch.Short()
		default:
			return r, fmt.Errorf("%w: HEAD is on no branch", ErrNoRemote)
		}
	}
	if _, there := cfg.Remotes[r.Name]; !there || !plainRemote.MatchString(r.Name) {
		return r, fmt.Errorf("%w: there is no remote %q", ErrNoRemote, r.Name)
	}
	if err := CheckBranch(r.Branch); err != nil {
		return r, fmt.Errorf("%w: %w", ErrNoRemote, err)
	}
	return r, nil
}

// HasRemote reports whether the clone has any remote.
func (c *Clone) HasRemote() (bool, error) {
	cfg, err := c.repository.Config()
	if err != nil {
		return false, fmt.Errorf("read Git configuration: %w", err)
	}
	return len(cfg.Remotes) > 0, nil
}

// Fetch fetches a branch, and returns where it is.
func (c *Clone) Fetch(ctx context.Context, r Remote) (plumbing.Hash, error) {
	if err := c.do("fetch "+r.String(), func() error {
		_, err := c.git(ctx, "", nil, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance",
			"--end-of-options", r.Name, "+"+r.reference().String()+":"+r.tracking().String())
		return err
	}); err != nil {
		return plumbing.ZeroHash, err
	}
	// Git may have written a pack that go-git has not seen yet.
	if again, ok := c.repository.Storer.(interface{ Reindex() }); ok {
		again.Reindex()
	}
	at, err := c.repository.Reference(r.tracking(), true)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("read %s: %w", r.tracking(), err)
	}
	return at.Hash(), nil
}

// Ask returns where a branch of a remote is, or false when there is none, and
// fetches nothing.
func (c *Clone) Ask(ctx context.Context, r Remote) (at plumbing.Hash, there bool, err error) {
	out, err := c.git(ctx, "", nil, "ls-remote", "--quiet", "--end-of-options", r.Name, r.reference().String())
	if err != nil {
		return at, false, err
	}
	for line := range strings.Lines(out) {
		hash, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if name == r.reference().String() && plumbing.IsHash(hash) {
			return plumbing.NewHash(hash), true, nil
		}
	}
	return at, false, nil
}

// send pushes a commit to a branch, without force.
func (c *Clone) send(ctx context.Context, commit plumbing.Hash, r Remote) error {
	return c.do("push to "+r.String(), func() error {
		_, err := c.git(ctx, "", nil, "push", "--quiet", "--no-follow-tags", "--recurse-submodules=no",
			"--end-of-options", r.Name, commit.String()+":"+r.reference().String())
		return err
	})
}

// RefusedError says that a remote did not take a commit, for another reason than
// that its branch had moved.
type RefusedError struct {
	Remote Remote
	// Said is what Git and the remote said. It is untrusted.
	Said string
	Err  error
}

// Error returns what Git and the remote said.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s did not take the commit: %s", e.Remote, strings.TrimSpace(e.Said))
}

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

func refused(r Remote, err error) error {
	var said *gitError
	if errors.As(err, &said) {
		return &RefusedError{Remote: r, Said: said.said, Err: err}
	}
	return err
}
