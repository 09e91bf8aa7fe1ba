// Package commitflags has the flags of all commands that commit: the destination of the commit.
package commitflags

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/forges"
	"github.com/polex-dev/polex/internal/forge"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/internal/promotion/deliver"
	"github.com/polex-dev/polex/internal/retry"
)

// Flags are the values of the flags.
type Flags struct {
	Commit      bool
	Push        bool
	PullRequest bool
	Branch      string
	PushBy      string // "", [Git] or the name of a forge

	timing retry.Timing
}

// Git is a value of --push-by. "" is Git too, after a look at the rules of the branch.
const Git = "git"

// Add adds the flags to a command. what names the change in help texts, for example "the
// promotion".
func (f *Flags) Add(cmd *cobra.Command, timing retry.Timing, what string) {
	f.timing = timing
	flags := cmd.Flags()
	flags.BoolVar(&f.Commit, "commit", false, "commit "+what+" on the branch of the work tree")
	flags.BoolVar(&f.Push, "push", false, "commit "+what+" on the remote branch, and push it")
	flags.BoolVar(&f.PullRequest, "pull-request", false,
		"push the commit to a new branch for a pull request; leave the work tree as it is")
	flags.StringVar(&f.Branch, "branch", "", "target branch (default: the upstream of HEAD's branch)")
	flags.StringVar(&f.PushBy, "push-by", "",
		"git or github: GitHub's API makes and signs the commit, with GITHUB_TOKEN (default: git)")
	cli.Check(flags, "push-by", cli.OneOf(append([]string{Git}, forges.Names()...)...))
}

// Way returns the destination of the change.
func (f *Flags) Way() deliver.Way {
	switch {
	case f.PullRequest:
		return deliver.PullRequest
	case f.Push:
		return deliver.Push
	case f.Commit:
		return deliver.Commit
	default:
		return deliver.Plan
	}
}

// Check rejects flags that contradict each other.
func (f *Flags) Check(way deliver.Way) error {
	switch {
	case f.PullRequest && (f.Commit || f.Push):
		return cli.Usagef("--pull-request cannot be combined with --commit and --push: it pushes to a new branch")
	case f.Commit && f.Push:
		return cli.Usagef("--commit and --push are two destinations: use one")
	case f.PushBy != "" && !(deliver.To{Way: way}).Pushes():
		return cli.Usagef("--push-by requires --push")
	}
	return CheckBranch("branch", f.Branch)
}

// CheckBranch rejects an invalid branch name in a flag.
func CheckBranch(flag, name string) error {
	if name == "" {
		return nil
	}
	if err := commit.CheckBranch(name); err != nil {
		return &cli.UsageError{Err: fmt.Errorf("--%s %w", flag, err),
			Hint: "git check-ref-format --branch NAME checks a name; HEAD and refs/… are not branches"}
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

// Delivery returns the destination and the author of the commit. Without a push, it resolves the
// remote only if --branch names the target branch.
func (f *Flags) Delivery(clone *commit.Clone, way deliver.Way, now time.Time) (to deliver.To, err error) {
	to.Way = way
	if way == deliver.Commit || to.Pushes() {
		to.By, err = f.by(clone, now)
	}
	if err == nil && (to.Pushes() || f.Branch != "") {
		to.Push, err = f.To(clone)
	}
	return to, err
}

// by returns the author of the commit. A missing author is a [cli.UsageError].
func (f *Flags) by(clone *commit.Clone, now time.Time) (commit.Author, error) {
	by := commit.Author{When: now}
	if !f.ByForge() {
		var err error
		if by.Sign, err = clone.SignsCommits(); err != nil {
			return by, err
		}
	}
	_, err := clone.Signature(by)
	if errors.Is(err, commit.ErrNoAuthor) {
		return by, &cli.UsageError{Err: err,
			Hint: "git config user.name and user.email, or set GIT_AUTHOR_NAME and GIT_AUTHOR_EMAIL"}
	}
	return by, err
}

// To returns the remote branch to push to. A missing remote is a [cli.UsageError].
func (f *Flags) To(clone *commit.Clone) (commit.Push, error) {
	to, err := clone.Remote(commit.Remote{Branch: f.Branch})
	if errors.Is(err, commit.ErrNoRemote) {
		return commit.Push{}, &cli.UsageError{Err: err,
			Hint: "name it with --branch, and its remote with git config branch.NAME.remote"}
	}
	push := commit.Push{To: to}
	if f.ByForge() {
		push.By, err = f.Forge()
	}
	return push, err
}

// Print prints where a change went, and why the work tree did not follow. without is the verb of the command,
// if it has made only a plan.
func Print(w io.Writer, without string, to commit.Remote, done commit.Result) {
	switch {
	case without != "":
		_, _ = fmt.Fprintf(w, "this is the plan, and nothing was changed: %s with --commit, --push or --pull-request\n",
			without)
	case done.Commit.IsZero():
	case to.Branch != "":
		_, _ = fmt.Fprintf(w, "pushed to %s %s\n", to, done.Commit)
	default:
		_, _ = fmt.Fprintf(w, "committed %s\n", done.Commit)
	}
	if done.Left != "" {
		_, _ = fmt.Fprintln(w, plain.Line(done.Left))
	}
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
		return cli.Hint(err, "nothing was changed; commit or undo that change (git restore PATH), or move it away, "+
			"and run this again")
	case errors.Is(err, commit.ErrDetached):
		return cli.Hint(err, "nothing was changed; git switch BRANCH, or use --push")
	case errors.Is(err, commit.ErrMoved):
		return cli.Hint(err, "nothing was changed")
	}
	return err
}

// ByForge reports whether the forge makes the commit.
func (f *Flags) ByForge() bool { return slices.Contains(forges.Names(), f.PushBy) }

// Forge returns the forge of --push-by.
func (f *Flags) Forge() (forge.Forge, error) {
	workflow := forges.Workflow(os.Getenv)
	if err := workflow.Complete(); err != nil {
		return nil, fmt.Errorf("--push-by %s: %w", f.PushBy, err)
	}
	made, err := workflow.Open("", f.timing)
	if err != nil {
		return nil, &cli.UsageError{Err: fmt.Errorf("--push-by %s: %w", f.PushBy, err)}
	}
	return made, nil
}

// Permitted returns an error if the rules of the target branch on the forge reject the commit, with the
// flag to add. It asks only where a token is at hand. If the token may not read the rules, the push
// decides. If the forge is away, an error is returned if it has to make the commit. With --push-by
// git, it asks nothing, because Git's own credentials may bypass the rules.
func (f *Flags) Permitted(ctx context.Context, to commit.Remote, change forge.Change) error {
	if f.PushBy == Git {
		return nil
	}
	repository, err := forges.Workflow(os.Getenv).Open("", f.timing)
	if err != nil {
		return nil //nolint:nilerr // the review records and --push-by report it
	}
	change.Signed = change.Signed || f.ByForge()
	rules, err := repository.Rejecting(ctx, to.Branch, change)
	if f.ByForge() && retry.Unavailable(err) {
		return fmt.Errorf("rules of %s: %w", to, err)
	}
	if err != nil || len(rules) == 0 {
		return nil //nolint:nilerr // a token may not read them
	}
	var names, flags []string
	for _, rule := range rules {
		flag := "--pull-request"
		if rule.Signature {
			flag = "--push-by " + strings.Join(forges.Names(), " or ")
		}
		if names = append(names, rule.Name); !slices.Contains(flags, flag) {
			flags = append(flags, flag)
		}
	}
	hint := "use " + strings.Join(flags, " and ")
	if f.PushBy == "" {
		hint += "; if Git's credentials may bypass these rules, use --push-by git"
	}
	return cli.Hint(fmt.Errorf("the rules of %s reject this commit: %s", to, strings.Join(names, ", ")), hint)
}
