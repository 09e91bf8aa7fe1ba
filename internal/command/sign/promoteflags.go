package sign

import (
	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/commitflags"
	"github.com/polex-dev/polex/internal/promotion/deliver"
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

	keepGoing    bool
	signedOutput string
	signedInput  string
}

func (o *promoteOptions) addPromote(cmd *cobra.Command, timing retry.Timing) {
	flags := cmd.Flags()
	flags.StringVar(&o.ref, "ref", "", "`commit` with the pending exceptions: HEAD, a branch, a tag or a whole hash "+
		"(default: HEAD)")
	flags.BoolVar(&o.keepGoing, "keep-going", false, "leave out invalid files, promote the others and exit with 1")
	o.Add(cmd, timing, "the promotion")
	flags.BoolVar(&o.pullRequest, "pull-request", false,
		"push the commit to a new branch for a pull request; leave the work tree as it is")
	flags.StringVar(&o.pullRequestName, "pull-request-branch",
		"", "new branch for a pull request (default: polex/signed- and the start of the commit's hash)")
	flags.StringVar(&o.signedOutput, "signed-output", "",
		"write the signed files to a new `folder`, for another job to commit")
	flags.StringVar(&o.signedInput, "signed-input", "",
		"verify and commit a `folder` of --signed-output instead of signing")
}

// way returns the destination of the promotion.
func (o *promoteOptions) way() deliver.Way {
	switch {
	case o.signedOutput != "":
		return deliver.Folder
	case o.pullRequest:
		return deliver.PullRequest
	}
	return o.Way()
}

// checkPromote rejects flags that contradict each other.
func (o *promoteOptions) checkPromote() error {
	switch {
	case o.pullRequestName != "" && !o.pullRequest:
		return cli.Usagef("--pull-request-branch requires --pull-request")
	case o.signedOutput != "" && (o.Way() != deliver.Plan || o.pullRequest || o.signedInput != ""):
		return cli.Usagef("--signed-output cannot be combined with --commit, --push, --pull-request and " +
			"--signed-input: another job commits")
	case o.pullRequest && o.Way() != deliver.Plan:
		return cli.Usagef("--pull-request cannot be combined with --commit and --push: it pushes to a new branch")
	case o.signedInput != "" && o.way() == deliver.Plan:
		return cli.Usagef("--signed-input requires --commit, --push or --pull-request")
	}
	if err := commitflags.CheckBranch("pull-request-branch", o.pullRequestName); err != nil {
		return err
	}
	return o.Check(o.way())
}
