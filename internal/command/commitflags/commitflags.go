// Package commitflags has the flags of all commands that commit: the author of the commit, and the
// branch to push to.
package commitflags

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/mail"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promote/deliver"
	"github.com/polex-dev/polex/internal/retry"
)

// Flags are the values of the flags.
type Flags struct {
	Commit     bool
	Push       bool
	Author     string
	SignCommit bool
	Remote     string
	Branch     string
	Attempts   int
	PushBy     string // "", [Git], [GitHub] or [GitLab]

	timing retry.Timing
}

// The values of --push-by. "" is Git too, after a look at the rules of the branch.
const (
	Git    = "git"
	GitHub = "github"
	GitLab = "gitlab"
)

// Add adds the flags to a command. what names the change in help texts, for example "the
// promotion".
func (f *Flags) Add(flags *pflag.FlagSet, timing retry.Timing, what string) {
	f.timing = timing
	flags.BoolVar(&f.Commit, "commit", false, "commit "+what)
	flags.StringVar(&f.Author, "author", "", "author of the commit, as Name <address> (default: Git's user.name and user.email)")
	flags.BoolVar(&f.SignCommit, "sign-commit", false, "sign the commit by Git's configuration (default: commit.gpgSign)")
	flags.BoolVar(&f.Push, "push", false, "commit "+what+" on the remote branch, and push it")
	flags.StringVar(&f.Remote, "remote", "", "remote of the target branch (default: that of HEAD's branch, or origin)")
	flags.StringVar(&f.Branch, "branch", "", "target branch (default: the upstream of HEAD's branch)")
	flags.IntVar(&f.Attempts, "push-attempts", 0, "attempts to push while others push, 1 to 100 (default: 10)")
	flags.StringVar(&f.PushBy, "push-by", "", "git, github or gitlab: the server's API makes and signs the commit, with GITHUB_TOKEN or GITLAB_TOKEN (default: git)")
	cli.Check(flags, "push-by", cli.OneOf(Git, GitHub, GitLab))
	cli.Rare(flags, "author", "sign-commit", "remote", "push-attempts", "push-by")
}

// Commits reports whether a commit is made.
func (f *Flags) Commits() bool { return f.Commit || f.Push }

// byServer reports whether the server's API makes the commit.
func (f *Flags) byServer() bool { return f.PushBy == GitHub || f.PushBy == GitLab }

// Check rejects flags that require a commit or a push if there is none.
func (f *Flags) Check() error { return f.CheckFor(f.Commits(), f.Push) }

// CheckFor is [Flags.Check] for a command that can also commit or push without these flags.
func (f *Flags) CheckFor(commits, pushes bool) error {
	switch {
	case !commits && f.SignCommit:
		return cli.Usagef("--sign-commit requires --commit or --push")
	case !commits && f.Author != "":
		return cli.Usagef("--author requires --commit or --push")
	case !pushes && (f.Remote != "" || f.Branch != "" || f.Attempts != 0):
		return cli.Usagef("--remote, --branch and --push-attempts require --push")
	case !pushes && f.PushBy != "":
		return cli.Usagef("--push-by requires --push")
	case f.byServer() && f.SignCommit:
		return cli.Usagef("--sign-commit cannot be combined with --push-by %s: the server signs the commit", f.PushBy)
	case f.Attempts < 0 || f.Attempts > 100:
		return cli.Usagef("--push-attempts %d is not from 1 to 100", f.Attempts)
	}
	return CheckBranch("branch", f.Branch)
}

// CheckBranch rejects an invalid branch name in a flag.
func CheckBranch(flag, name string) error {
	if name == "" {
		return nil
	}
	if err := commit.CheckBranch(name); err != nil {
		return &cli.UsageError{Err: fmt.Errorf("--%s %w", flag, err), Hint: "git check-ref-format --branch NAME checks a name; HEAD and refs/… are not branches"}
	}
	return nil
}

// Open opens the clone of the working directory. It finishes the work of an interrupted run, and
// prints a message about it.
func Open(streams cli.Streams) (*commit.Clone, error) {
	clone, err := commit.Open(commit.Options{Dir: ".", Timing: streams.Timing})
	if err != nil {
		return nil, err
	}
	if clone.Recovered != "" {
		_, _ = fmt.Fprintln(streams.Err, clone.Recovered)
	}
	return clone, nil
}

// Way returns the destination of the change.
func (f *Flags) Way() deliver.Way {
	switch {
	case f.Push:
		return deliver.Push
	case f.Commit:
		return deliver.Commit
	default:
		return deliver.WorkTree
	}
}

// Delivery returns the destination and the author of the commit. It resolves the remote only if a
// push needs it or a flag names it.
func (f *Flags) Delivery(clone *commit.Clone, way deliver.Way, now time.Time) (to deliver.To, err error) {
	to.Way = way
	if way != deliver.WorkTree {
		to.By, err = f.By(clone, now)
	}
	if err == nil && (way == deliver.Push || f.Remote != "" || f.Branch != "") {
		to.Push, err = f.To(clone)
	}
	return to, err
}

// By returns the author of the commit. A missing author is a [cli.UsageError].
func (f *Flags) By(clone *commit.Clone, now time.Time) (commit.Author, error) {
	by := commit.Author{When: now, Sign: f.SignCommit}
	if !f.SignCommit && !f.byServer() {
		var err error
		if by.Sign, err = clone.SignsCommits(); err != nil {
			return by, err
		}
	}
	if f.Author != "" {
		address, err := mail.ParseAddress(f.Author)
		if err != nil || address.Name == "" {
			return by, cli.Usagef("--author %q is not written as Name <address>", f.Author)
		}
		by.Name, by.Email = address.Name, address.Address
	}
	_, err := clone.Signature(by)
	if errors.Is(err, commit.ErrNoAuthor) {
		return by, &cli.UsageError{Err: err, Hint: "set Git's user.name and user.email, or pass --author 'Name <address>'"}
	}
	return by, err
}

// The pauses between push attempts.
const (
	firstPause = 200 * time.Millisecond
	mostPause  = 15 * time.Second
)

// To returns the remote branch to push to. A missing remote is a [cli.UsageError].
func (f *Flags) To(clone *commit.Clone) (commit.Push, error) {
	to, err := clone.Remote(commit.Remote{Name: f.Remote, Branch: f.Branch})
	if errors.Is(err, commit.ErrNoRemote) {
		return commit.Push{}, &cli.UsageError{Err: err, Hint: "name it with --remote and --branch"}
	}
	push := commit.Push{To: to, Attempts: f.Attempts, Pause: commit.Backoff(firstPause, mostPause, rand.Int64N)}
	switch {
	case err != nil:
	case f.PushBy == GitHub:
		push.By, err = f.Client()
	case f.PushBy == GitLab:
		push.By, err = f.gitLab()
	}
	return push, err
}

// Later is the hint for an error of a server that is away.
const Later = "nothing is lost: when that server answers again, run this again (in a workflow: re-run the failed jobs)"

// Hint adds a hint to an error of a commit or push. otherwise is an additional hint for a protected
// branch, or "".
func Hint(err error, otherwise string) error {
	var refused *commit.RefusedError
	switch {
	case retry.Unavailable(err):
		return cli.Hint(err, Later)
	case errors.Is(err, commit.ErrOutrun):
		return cli.Hint(err, "nothing was changed; run it again when fewer runs push")
	case errors.As(err, &refused) && strings.Contains(refused.Said, "verified signatures"):
		return cli.Hint(err, "nothing was changed; with --push-by github, GitHub signs the commit")
	case errors.As(err, &refused):
		return cli.Hint(err, "nothing was changed; if the branch is protected, let this identity push to it"+otherwise)
	case errors.Is(err, commit.ErrOtherCommit):
		return cli.Hint(err, "the target branch was not moved; find out what changed the commit")
	case errors.Is(err, commit.ErrInTheWay):
		return cli.Hint(err, "nothing was changed; commit or undo that change (git restore PATH), or move it away, and run this again")
	case errors.Is(err, commit.ErrDetached):
		return cli.Hint(err, "nothing was changed; git switch BRANCH, or use --push")
	case errors.Is(err, commit.ErrMoved):
		return cli.Hint(err, "nothing was changed")
	}
	return err
}
