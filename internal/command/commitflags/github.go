package commitflags

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/github"
	"github.com/polex-dev/polex/internal/retry"
)

// Client returns the client of GitHub's API for --push-by github.
func (f *Flags) Client() (*github.Client, error) {
	c := github.Workflow(os.Getenv, &http.Client{})
	c.Timing = f.timing
	if c.Token == "" || c.Repository == "" {
		return nil, cli.Hint(errors.New("--push-by github needs the environment variables GITHUB_TOKEN and "+
			"GITHUB_REPOSITORY"),
			"in GitHub Actions, give the step env: GITHUB_TOKEN: ${{ github.token }} and the job contents: write")
	}
	client, err := github.New(c)
	if err != nil {
		return nil, &cli.UsageError{Err: fmt.Errorf("--push-by github: %w", err)}
	}
	return client, nil
}

// The rules of GitHub that reject a commit. Others, such as required_linear_history, do not.
var (
	signatureRules = []string{"required_signatures"}
	proposalRules  = []string{"pull_request", "merge_queue"}
)

// Permitted returns an error if the rules of the target branch on GitHub reject the commit, with the
// flag to add. It asks only where a token is at hand. If the token may not read the rules, the push
// decides. If GitHub is away, an error is returned if GitHub has to make the commit. With --push-by
// git, it asks nothing, because Git's own credentials may bypass the rules.
func (f *Flags) Permitted(ctx context.Context, to commit.Remote, proposes, signs bool) error {
	c := github.Workflow(os.Getenv, &http.Client{})
	c.Timing = f.timing
	if f.PushBy == Git || c.Token == "" || c.Repository == "" {
		return nil
	}
	client, err := github.New(c)
	if err != nil {
		return nil //nolint:nilerr // the review records and --push-by report it
	}
	rules, err := client.Rules(ctx, to.Branch, slices.Concat(signatureRules, proposalRules)...)
	if f.PushBy == GitHub && retry.Unavailable(err) {
		return fmt.Errorf("rules of %s on GitHub: %w", to, err)
	}
	if err != nil {
		return nil //nolint:nilerr // a token may not read them
	}
	var broken, flags []string
	for _, rule := range rules {
		flag := "--pull-request"
		switch {
		case slices.Contains(signatureRules, rule.Type):
			if flag = "--push-by github"; f.PushBy == GitHub || signs {
				continue
			}
		case proposes:
			continue
		}
		broken = append(broken, rule.Type)
		if !slices.Contains(flags, flag) {
			flags = append(flags, flag)
		}
	}
	if len(broken) == 0 {
		return nil
	}
	hint := "use " + strings.Join(flags, " and ")
	if f.PushBy == "" {
		hint += "; if Git's credentials may bypass these rules, use --push-by git"
	}
	return cli.Hint(fmt.Errorf("the rules of %s on GitHub reject this commit: %s", to, strings.Join(broken, ", ")),
		hint)
}
