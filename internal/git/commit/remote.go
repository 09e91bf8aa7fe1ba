package commit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/retry"
)

// Remote is a branch of a remote.
type Remote struct {
	Name   string // in Git's configuration
	Branch string // without refs/heads/
}

// String returns "name/branch".
func (r Remote) String() string { return r.Name + "/" + r.Branch }

func (r Remote) reference() git.ReferenceName { return git.Branch(r.Branch) }

func (r Remote) tracking() git.ReferenceName {
	return git.ReferenceName("refs/remotes/" + r.Name + "/" + r.Branch)
}

// ErrNoRemote means that the remote or its branch is not known.
var ErrNoRemote = errors.New("the target branch is not known")

var plainRemote = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/-]*$`)

// Remote fills the empty fields of r: the branch of the work tree, and its remote or origin. It
// returns [ErrNoRemote] if there is no such remote or no branch.
func (c *Clone) Remote(r Remote) (Remote, error) {
	head, err := c.Head()
	if err != nil {
		return r, err
	}
	branch := "branch." + head.Branch.Short()
	follows, err := c.setting(branch + ".remote")
	if err != nil {
		return r, err
	}
	if r.Name == "" {
		if r.Name = follows; r.Name == "" {
			r.Name = "origin"
		}
	}
	if r.Branch == "" {
		name, err := c.setting(branch + ".merge")
		switch merge := git.ReferenceName(name); {
		case err != nil:
			return r, err
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

// outages are parts of the messages of git, curl and ssh about a remote that is away, fails or is
// overloaded.
var outages = []string{"returned error: 5", "returned error: 429", "HTTP 5", "HTTP 429", "ould not connect to",
	"ouldn't connect to", "Failed to connect to",
	"Connection refused", "Connection reset", "Connection closed", "timed out", "ould not resolve host",
	"Empty reply from server", "hung up unexpectedly",
	"early EOF", "unexpected disconnect", "Broken pipe", "Network is unreachable", "No route to host",
	"Temporary failure in name resolution", "SSL_ERROR_SYSCALL", "Operation too slow",
	// An answer that ends too early, by its length, its chunks, HTTP/2, TLS or Git's own packets.
	"transfer closed", "not closed cleanly", "unexpected eof", "non-properly terminated", "still expected",
	"expected flush after", "response end packet", "length header were received", "expected 'acknowledgments'",
	"expected 'packfile'"}

// over runs a git command that asks a remote. While the remote is away, it tries again, within
// [retry.Timing.Command]: a push that has arrived already succeeds. A rejected push is not tried
// again.
func (c *Clone) over(ctx context.Context, remote string, args ...string) (out string, err error) {
	var slow []string
	limit, err := c.setting("http.lowSpeedLimit")
	if err != nil {
		return "", err
	}
	if limit == "" { // a helper of git does not end with git while a server hangs
		slow = []string{"-c", "http.lowSpeedLimit=1", "-c",
			fmt.Sprintf("http.lowSpeedTime=%.0f", (c.options.Timing.Limit() / 3).Seconds())}
	}
	var last *git.CommandError // of the last try that ended by itself: it has the cause
	err = c.options.Timing.Command(ctx, func(ctx context.Context) error {
		out, err = c.git.Run(ctx, git.Call{Hooks: true, Write: true}, append(slow, args...)...)
		if err != nil && ctx.Err() != nil {
			if last == nil {
				last = &git.CommandError{Command: args[0], Err: context.Cause(ctx)}
			}
			return last
		}
		if errors.As(err, &last) && !strings.Contains(last.Message, "rejected]") &&
			slices.ContainsFunc(outages, func(part string) bool { return strings.Contains(last.Message, part) }) {
			err = retry.Transient(err)
		}
		return err
	})
	if retry.Unavailable(err) { // git names the address in some of its messages only
		err = fmt.Errorf("remote %q: %w", c.address(remote), err)
	}
	return out, err
}

// address returns the address of a remote without a user name and password.
func (c *Clone) address(remote string) string {
	address, err := c.setting("remote." + remote + ".url")
	u, invalid := url.Parse(address)
	if err != nil || invalid != nil || u.Host == "" {
		return cmp.Or(address, remote)
	}
	u.User = nil
	return u.String()
}

// HasRemote reports whether the clone has a remote.
func (c *Clone) HasRemote() (bool, error) {
	remotes, err := c.remotes()
	return len(remotes) > 0, err
}

func (c *Clone) remotes() ([]string, error) {
	out, err := c.ask(git.Call{}, "remote")
	return strings.Split(strings.TrimSuffix(out, "\n"), "\n")[:strings.Count(out, "\n")], err
}

// Fetch fetches a branch and returns its commit.
func (c *Clone) Fetch(ctx context.Context, r Remote) (git.Hash, error) {
	return c.fetch(ctx, r, r.tracking())
}

// fetch fetches a branch into a reference. Without --refmap, Git would also keep a tracking reference
// of each temporary branch.
func (c *Clone) fetch(ctx context.Context, r Remote, into git.ReferenceName) (git.Hash, error) {
	if err := c.do("fetch "+r.String(), func() error {
		_, err := c.over(ctx, r.Name, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
			"--no-recurse-submodules", "--no-auto-maintenance", "--refmap=",
			"--end-of-options", r.Name, "+"+r.reference().String()+":"+into.String())
		return err
	}); err != nil {
		return git.ZeroHash, err
	}
	return c.Reference(into)
}

// ErrBranchBelow means that Git cannot create a branch, because another branch has the name of its
// folder: polex/web is impossible if there is a branch polex.
var ErrBranchBelow = errors.New("cannot create a branch below an existing one")

// Ask returns the commit of a remote branch without a fetch, or false if there is none. It returns
// [ErrBranchBelow] if the branch is impossible.
func (c *Clone) Ask(ctx context.Context, r Remote) (at git.Hash, there bool, err error) {
	wanted := r.reference().String()
	names := []string{wanted}
	for i, char := range wanted {
		if char == '/' && i > len("refs/heads") {
			names = append(names, wanted[:i])
		}
	}
	out, err := c.over(ctx, r.Name, append([]string{"ls-remote", "--quiet", "--end-of-options", r.Name}, names...)...)
	if err != nil {
		return at, false, err
	}
	for line := range strings.Lines(out) {
		hash, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case name == wanted && git.IsHash(hash):
			return git.NewHash(hash), true, nil
		case slices.Contains(names, name):
			err = fmt.Errorf("%s: %w: the remote has a branch %q", r, ErrBranchBelow,
				strings.TrimPrefix(name, "refs/heads/"))
		}
	}
	return at, false, err
}

// send pushes a commit to a branch that is at onto, or that does not exist if onto is zero. If the
// branch was reset to an older commit, the push does not bring the removed ones back. With its parent
// at onto, the commit never forces the branch.
func (c *Clone) send(ctx context.Context, commit git.Hash, r Remote, onto git.Hash) error {
	return c.do("push to "+r.String(), func() error {
		// Git could read a hash as a tag name, and the destination as the end of another reference.
		// Both sides of a pattern are exact, and nobody else can know this random name.
		private := temporary()
		reference := private + strings.TrimPrefix(r.reference().String(), "refs/heads/")
		if _, err := c.git.Run(ctx, git.Call{}, "update-ref", "--no-deref", "--", reference, commit.String(),
			git.ZeroHash.String()); err != nil {
			return err
		}
		lease := "--force-with-lease=" + r.reference().String() + ":"
		if !onto.IsZero() {
			lease += onto.String()
		}
		_, err := c.over(ctx, r.Name, "push", "--quiet", "--no-follow-tags", "--recurse-submodules=no", lease,
			"--end-of-options", r.Name, private+"*:refs/heads/*")
		// The result does not affect the push, and a later run removes the reference.
		_, _ = c.git.Run(context.Background(), git.Call{}, "update-ref", "-d", "--", reference)
		return err
	})
}

// RefusedError means that the remote rejected a commit for another reason than a moved branch.
type RefusedError struct {
	Remote Remote
	// Said is the message of Git and the remote, or of the server's API. It is untrusted.
	Said string
	Err  error
}

// Error returns the message of Git and the remote.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s rejected the commit: %s", e.Remote, strings.TrimSpace(e.Said))
}

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

func refused(r Remote, err error) error {
	var failed *git.CommandError
	if errors.As(err, &failed) && failed.Lock == "" && !retry.Unavailable(err) {
		return &RefusedError{Remote: r, Said: failed.Message, Err: err}
	}
	return err
}
