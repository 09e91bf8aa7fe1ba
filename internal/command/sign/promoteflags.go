package sign

import (
	"github.com/spf13/pflag"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/commitflags"
	"github.com/polex-dev/polex/internal/promote/deliver"
	"github.com/polex-dev/polex/internal/retry"
)

// promoteOptions are the flags and settings of promote alone.
type promoteOptions struct {
	ref              string
	unsigned, signed string // directories of the configuration
	replace          bool   // promote.updates of the configuration

	commitflags.Flags

	pullRequest     bool
	pullRequestName string

	dryRun       bool
	keepGoing    bool
	sealedOutput string
	sealedInput  string
}

func (o *promoteOptions) addPromote(flags *pflag.FlagSet, timing retry.Timing) {
	flags.StringVar(&o.ref, "ref", "", "`commit` with the pending exceptions: HEAD, a branch, a tag or a whole hash (default: HEAD)")
	flags.BoolVar(&o.dryRun, "dry-run", false, "check and print the plan; sign and write nothing")
	flags.BoolVar(&o.keepGoing, "keep-going", false, "leave out invalid files, promote the others and exit with 1")
	o.Add(flags, timing, "the promotion")
	flags.BoolVar(&o.pullRequest, "pull-request-mode", false, "push the commit to a new branch for a pull request; leave the work tree as it is")
	flags.StringVar(&o.pullRequestName, "pull-request-branch", "", "new branch for a pull request (default: polex/signed- and the start of the commit's hash)")
	flags.StringVar(&o.sealedOutput, "signed-output", "", "write the signed files to a new `folder`, for another job to commit")
	flags.StringVar(&o.sealedInput, "signed-input", "", "verify and commit a `folder` of --signed-output instead of signing")
	cli.Rare(flags, "pull-request-branch", "signed-output", "signed-input")
}

// way returns the destination of the promotion. --pull-request-mode pushes to a branch of the
// remote too.
func (o *promoteOptions) way() deliver.Way {
	if o.pullRequest {
		return deliver.Push
	}
	return o.Way()
}

// checkPromote rejects flags that contradict each other.
func (o *promoteOptions) checkPromote() error {
	commits, pushes := o.way() != deliver.WorkTree, o.way() == deliver.Push
	switch {
	case o.pullRequestName != "" && !o.pullRequest:
		return cli.Usagef("--pull-request-branch requires --pull-request-mode")
	case o.sealedOutput != "" && (commits || o.sealedInput != "" || o.dryRun):
		return cli.Usagef("--signed-output cannot be combined with --commit, --push, --pull-request-mode, --dry-run and --signed-input: another job commits")
	case o.sealedInput != "" && o.dryRun:
		return cli.Usagef("--dry-run cannot be combined with --signed-input, which signs nothing")
	case (o.Attempts != 0 || o.PushBy != "") && !pushes:
		return cli.Usagef("--push-attempts and --push-by require --push or --pull-request-mode")
	}
	if err := commitflags.CheckBranch("pull-request-branch", o.pullRequestName); err != nil {
		return err
	}
	// --remote and --branch name the target branch, which every promotion asks.
	return o.CheckFor(commits, true)
}
