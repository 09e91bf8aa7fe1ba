package sign

import (
	"github.com/spf13/pflag"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/commitflags"
	"github.com/polex-dev/polex/internal/promote/deliver"
)

// promoteOptions are the flags that only --promote has.
type promoteOptions struct {
	unsigned, signed string
	source           string
	replace          bool // from the configuration

	commitflags.Flags

	pullRequest     bool
	pullRequestName string

	dryRun       bool
	keepGoing    bool
	sealedOutput string
	sealedInput  string
}

func (o *promoteOptions) addPromote(flags *pflag.FlagSet) {
	flags.StringVar(&o.unsigned, "unsigned", "", "`folder` of the pending exceptions (default: unsigned)")
	flags.StringVar(&o.signed, "signed", "", "`folder` of the signed exceptions (default: signed)")
	flags.StringVar(&o.source, "source", "", "`commit` to read the unsigned folder from: HEAD, a branch, a tag or a whole hash (default: HEAD)")
	flags.BoolVar(&o.dryRun, "dry-run", false, "check everything and print the plan; sign and write nothing")
	flags.BoolVar(&o.keepGoing, "keep-going", false, "leave out the files that cannot be promoted, promote the others and exit 1 (default: promote all or none)")
	o.Add(flags, "the promotion")
	flags.BoolVar(&o.pullRequest, "pull-request-mode", false, "push the commit to a branch of its own, for a pull request, and leave the work tree as it is")
	flags.StringVar(&o.pullRequestName, "pull-request-branch", "", "`name` of that branch (default: polex/signed- and the beginning of the source's hash)")
	flags.StringVar(&o.sealedOutput, "sealed-output", "", "new `folder` to write the sealed files to, for another job to commit; the repository stays as it is")
	flags.StringVar(&o.sealedInput, "sealed-input", "", "`folder` that --sealed-output wrote, to verify and commit instead of signing")
}

// way returns the destination of the promotion. --pull-request-mode pushes to a branch of the
// remote too.
func (o *promoteOptions) way() deliver.Way {
	if o.pullRequest {
		return deliver.Push
	}
	return o.Way()
}

// checkPromote rejects flags that contradict each other, and all of them without --promote.
func (o *promoteOptions) checkPromote(promote bool) error {
	commits, pushes := o.way() != deliver.WorkTree, o.way() == deliver.Push
	given := *o
	given.replace = false
	switch {
	case !promote && given != promoteOptions{}:
		return cli.Usagef("the flags of a promotion (--commit, --push, --source, --dry-run and others) require --promote")
	case o.pullRequestName != "" && !o.pullRequest:
		return cli.Usagef("--pull-request-branch goes with --pull-request-mode")
	case o.sealedOutput != "" && (commits || o.sealedInput != "" || o.dryRun):
		return cli.Usagef("--sealed-output leaves the commit to another job: choose one")
	case o.sealedInput != "" && o.dryRun:
		return cli.Usagef("--dry-run prints a plan for signing, and --sealed-input signs nothing: remove one")
	case o.Attempts != 0 && !pushes:
		return cli.Usagef("--push-attempts requires --push or --pull-request-mode")
	}
	if err := commitflags.CheckBranch("pull-request-branch", o.pullRequestName); err != nil {
		return err
	}
	// Every promotion fetches the target branch, so --remote and --branch are always allowed.
	return o.CheckFor(commits, promote)
}
