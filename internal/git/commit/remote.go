package commit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"slices"
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
	branch := "branch." + head.Branch.Short()
	follows := c.setting(branch + ".remote")
	if r.Name == "" {
		if r.Name = follows; r.Name == "" {
			r.Name = "origin"
		}
	}
	if r.Branch == "" {
		switch merge := plumbing.ReferenceName(c.setting(branch + ".merge")); {
		case follows == r.Name && merge.IsBranch():
			r.Branch = merge.Short()
		case head.Branch.IsBranch():
			r.Branch = head.Branch.Short()
		default:
			return r, fmt.Errorf("%w: HEAD is on no branch", ErrNoRemote)
		}
	}
	remotes, err := c.remotes()
	if err != nil {
		return r, err
	}
	if !slices.Contains(remotes, r.Name) || !plainRemote.MatchString(r.Name) {
		return r, fmt.Errorf("%w: there is no remote %q", ErrNoRemote, r.Name)
	}
	if err := CheckBranch(r.Branch); err != nil {
		return r, fmt.Errorf("%w: %w", ErrNoRemote, err)
	}
	return r, nil
}

// HasRemote reports whether the clone has any remote.
func (c *Clone) HasRemote() (bool, error) {
	remotes, err := c.remotes()
	return len(remotes) > 0, err
}

func (c *Clone) remotes() ([]string, error) {
	out, err := c.ask(call{}, "remote")
	return strings.Split(strings.TrimSuffix(out, "\n"), "\n")[:strings.Count(out, "\n")], err
}

// Fetch fetches a branch, and returns where it is.
func (c *Clone) Fetch(ctx context.Context, r Remote) (plumbing.Hash, error) {
	if err := c.do("fetch "+r.String(), func() error {
		_, err := c.git(ctx, call{}, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance",
			"--end-of-options", r.Name, "+"+r.reference().String()+":"+r.tracking().String())
		return err
	}); err != nil {
		return plumbing.ZeroHash, err
	}
	return c.Reference(r.tracking())
}

// ErrBranchBelow says that a branch cannot be, since another has the name of a folder that it
// would lie in: where there is a branch polex, Git has no polex/web.
var ErrBranchBelow = errors.New("no branch can lie below another")

// Ask returns where a branch of a remote is, or false when there is none, and
// fetches nothing. Where there can be none, it is [ErrBranchBelow].
func (c *Clone) Ask(ctx context.Context, r Remote) (at plumbing.Hash, there bool, err error) {
	wanted := r.reference().String()
	names := []string{wanted}
	for i, char := range wanted {
		if char == '/' && i > len("refs/heads") {
			names = append(names, wanted[:i])
		}
	}
	out, err := c.git(ctx, call{}, append([]string{"ls-remote", "--quiet", "--end-of-options", r.Name}, names...)...)
	if err != nil {
		return at, false, err
	}
	for line := range strings.Lines(out) {
		hash, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case name == wanted && plumbing.IsHash(hash):
			return plumbing.NewHash(hash), true, nil
		case slices.Contains(names, name):
			err = fmt.Errorf("%s: %w: the remote has a branch %q", r, ErrBranchBelow, strings.TrimPrefix(name, "refs/heads/"))
		}
	}
	return at, false, err
}

// send pushes a commit to a branch, without force.
func (c *Clone) send(ctx context.Context, commit plumbing.Hash, r Remote) error {
	return c.do("push to "+r.String(), func() error {
		// Git would take a hash for the name of a tag, and the destination for the end of
		// another reference's name. Both sides of a pattern are exact; nobody knows this one.
		private := c.private + "push-" + rand.Text() + "/"
		reference := private + strings.TrimPrefix(r.reference().String(), "refs/heads/")
		if _, err := c.git(ctx, call{writes: true}, "update-ref", "--no-deref", "--", reference, commit.String(), plumbing.ZeroHash.String()); err != nil {
			return err
		}
		_, err := c.git(ctx, call{}, "push", "--quiet", "--no-follow-tags", "--recurse-submodules=no",
			"--end-of-options", r.Name, private+"*:refs/heads/*")
		// What is left of it says nothing about the push, and the next run removes it.
		_, _ = c.git(context.Background(), call{writes: true}, "update-ref", "-d", "--", reference)
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
