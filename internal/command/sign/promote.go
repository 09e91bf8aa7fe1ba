package sign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/commitflags"
	"github.com/polex-dev/polex/internal/command/forges"
	"github.com/polex-dev/polex/internal/command/reviewconfig"
	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/internal/forge"
	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/internal/promotion/deliver"
	"github.com/polex-dev/polex/internal/retry"
	"github.com/polex-dev/polex/pkg/exception"
)

// promote signs the pending exceptions of the repository.
func (r *run) promote(ctx context.Context) error {
	if r.report.Count(cli.Refuse)+r.report.Count(cli.Unknown) > 0 { // unreadable policies
		return cli.Finish(r.format, r.streams.Out, r.report)
	}
	const garbage = 30 // percent of the memory in use: 10,000 signed files are 200 MB
	debug.SetGCPercent(garbage)
	clone, err := commitflags.Open(r.streams)
	if err != nil {
		return err
	}
	defer clone.Close() //nolint:errcheck // the kernel would do it
	job, err := r.job(clone)
	if err != nil {
		return err
	}
	r.bar = cli.StartProgress(r.streams.Err, "reading and checking pending exceptions")
	result, err := promotion.Run(ctx, job)
	r.bar.Stop()
	if err != nil {
		return explain(err)
	}
	err = r.promoted(result)
	if proposed := result.Propose(ctx, job, func(what string) {
		_, _ = fmt.Fprintln(r.streams.Err, plain.Line(what))
	}); proposed != nil {
		return explain(proposed) // could not decide beats rejected
	}
	return err
}

// job returns the job that the flags and the configuration describe.
func (r *run) job(clone *commit.Clone) (promotion.Job, error) {
	o := r.options
	job := promotion.Job{
		Options: o.pending, Clone: clone, Now: r.now, SignedInput: o.signedInput,
		Checks: r.checks, Verifier: r.verifier, Recorder: recorder{run: r, clone: clone},
	}
	job.Kinds = r.kinds
	var err error
	if job.To, err = o.Delivery(clone, o.way(), r.now); err != nil {
		return job, err
	}
	if job.To.Push.To == (commit.Remote{}) { // only a clone without a remote has no target branch
		has, err := clone.HasRemote()
		if has {
			job.To.Push, err = o.To(clone)
		}
		if err != nil {
			return job, err
		}
	}
	job.To.Push.As, job.To.Folder = o.pullRequestName, o.signedOutput
	if o.PullRequest && o.ByForge() {
		if job.PullRequests, err = o.Forge(); err != nil {
			return job, err
		}
	}
	signer := &batches{run: r}
	job.Signer = signer
	switch {
	case job.To.Way == deliver.Folder:
		signer.permitted = func(ctx context.Context) error { return r.foretell(ctx, job.To.Push.To) }
	case job.To.Pushes():
		signer.permitted = func(ctx context.Context) error {
			return o.Permitted(ctx, job.To.Push.To, forge.Change{Signed: job.To.By.Sign, Proposed: o.PullRequest})
		}
	}
	job.Rules, err = r.rulesInRepository()
	return job, err
}

// foretell prints what the job that commits needs. Its flags are not known here.
func (r *run) foretell(ctx context.Context, to commit.Remote) error {
	var hinted *cli.HintedError
	if errors.As(r.options.Permitted(ctx, to, forge.Change{}), &hinted) {
		_, _ = fmt.Fprintf(r.streams.Err, "for the job that commits: %v: %s\n", hinted.Err, hinted.Hint)
	}
	return nil
}

// rulesInRepository returns the configuration file and the folder of policies, if they are in the
// repository. They are the rules of this run.
func (r *run) rulesInRepository() ([]string, error) {
	root, err := config.RepositoryRoot(".")
	if err != nil {
		return nil, err
	}
	at := cmp.Or(r.options.config, filepath.Join(root, config.Name))
	paths := []string{at}
	if d := r.config.Directories; d.Policies != "" {
		paths = append(paths, filepath.Join(r.config.Dir, filepath.FromSlash(d.Policies)))
	}
	var rules []string
	for _, path := range paths {
		if name, inside := config.PathIn(root, path); inside && name != "." {
			rules = append(rules, name)
		}
	}
	return rules, nil
}

// recorder records the reviews that the configuration asks for.
type recorder struct {
	*run
	clone *commit.Clone
}

// Record implements [promotion.Recorder].
func (r recorder) Record(ctx context.Context, plan *promotion.Plan, branch string) ([]*exception.Document, error) {
	options := reviewconfig.Options{Config: r.config, Workflow: forges.Workflow(os.Getenv),
		Timing: r.streams.Timing, Repository: r.clone.Repository, Branch: branch}
	if r.verifier != nil {
		options.Verify = func(doc *exception.Document) (*exception.Document,
			error) {
			return r.verifier.Predecessor(doc, r.now)
		}
	}
	reviews, err := reviewconfig.New(options)
	if err != nil || reviews == nil {
		return plan.Prepared(), err
	}
	return reviews.Record(ctx, plan.Moves)
}

// explain adds a hint to an error of a promotion.
func explain(err error) error {
	var revision *git.RevisionError
	switch {
	case errors.As(err, &revision) && revision.Malformed:
		return &cli.UsageError{Err: err, Hint: revision.Hint()}
	case errors.Is(err, promotion.ErrNotContained):
		return cli.Hint(err, "push the commit first, or name a commit of the branch with --ref")
	case errors.Is(err, commit.ErrBranchBelow):
		return cli.Hint(err, "nothing was signed or pushed; delete that branch, or name another with "+
			"--pull-request-branch")
	case errors.Is(err, promotion.ErrNotProposed) && !retry.Unavailable(err):
		return cli.Hint(err, "give the job pull-requests: write, and let the repository's settings allow GitHub "+
			"Actions to create pull requests; then run this again")
	case errors.Is(err, promotion.ErrBranchTaken):
		return cli.Hint(err, "nothing was signed or pushed; find out who made that branch, then delete it, or name "+
			"another with --pull-request-branch")
	}
	return commitflags.Hint(err, " or use --pull-request")
}

// promoteOptions are the flags and settings of promote alone.
type promoteOptions struct {
	pending promotion.Options
	commitflags.Flags

	pullRequestName           string
	signedOutput, signedInput string
}

func (o *promoteOptions) addPromote(cmd *cobra.Command, timing retry.Timing) {
	flags := cmd.Flags()
	flags.StringVar(&o.pending.Source, "ref", "",
		"`commit` with the pending exceptions: HEAD, a branch, a tag or a whole hash (default: HEAD)")
	flags.BoolVar(&o.pending.KeepGoing, "keep-going", false,
		"leave out invalid files, promote the others and exit with 1")
	o.Add(cmd, timing, "the promotion")
	flags.StringVar(&o.pullRequestName, "pull-request-branch",
		"", "new branch for a pull request (default: polex/signed- and the start of the commit's hash)")
	flags.StringVar(&o.signedOutput, "signed-output", "",
		"write the signed files to a new `folder`, for another job to commit")
	flags.StringVar(&o.signedInput, "signed-input", "",
		"verify and commit a `folder` of --signed-output instead of signing")
}

// way returns the destination of the promotion.
func (o *promoteOptions) way() deliver.Way {
	if o.signedOutput != "" {
		return deliver.Folder
	}
	return o.Way()
}

// checkPromote rejects flags that contradict each other.
func (o *promoteOptions) checkPromote() error {
	switch {
	case o.pullRequestName != "" && !o.PullRequest:
		return cli.Usagef("--pull-request-branch requires --pull-request")
	case o.signedOutput != "" && (o.Way() != deliver.Plan || o.signedInput != ""):
		return cli.Usagef("--signed-output cannot be combined with --commit, --push, --pull-request and " +
			"--signed-input: another job commits")
	case o.signedInput != "" && o.way() == deliver.Plan:
		return cli.Usagef("--signed-input requires --commit, --push or --pull-request")
	}
	if err := commitflags.CheckBranch("pull-request-branch", o.pullRequestName); err != nil {
		return err
	}
	return o.Check(o.way())
}
