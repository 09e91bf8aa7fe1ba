package commitflags

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/forges"
	"github.com/polex-dev/polex/internal/forge"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/retry"
)

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
