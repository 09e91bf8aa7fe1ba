package send

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/polex-dev/polex/internal/github"
)

// DefaultLogin is the account of GitHub workflows.
const DefaultLogin = "github-actions[bot]"

// GitHub comments on pull requests of a GitHub repository, as the account Login.
type GitHub struct {
	*github.Client
	Login string
}

var (
	commitForm = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	numberForm = regexp.MustCompile(`^[1-9][0-9]{0,8}$`)
)

// NumberOf returns the number in the address of a pull request. The repository is "owner/name", and
// the server an address such as https://github.com.
func NumberOf(server, repository, address string) (int, bool) {
	text, ok := strings.CutPrefix(address, strings.TrimSuffix(server, "/")+"/"+repository+"/pull/")
	if !ok || !numberForm.MatchString(text) {
		return 0, false
	}
	number, err := strconv.Atoi(text)
	return number, err == nil
}

// PullRequestOf returns the number of the one merged pull request that contains a commit.
func (g *GitHub) PullRequestOf(ctx context.Context, commit string) (int, error) {
	if !commitForm.MatchString(commit) {
		return 0, fmt.Errorf("%q is not a whole hash of a commit", commit)
	}
	var pulls []struct {
		Number   int
		MergedAt string `json:"merged_at"`
		Base     struct {
			Repo struct {
				FullName string `json:"full_name"`
			}
		}
	}
	if _, err := g.Get(ctx, g.Path("/commits/%s/pulls", commit), nil, &pulls); err != nil {
		return 0, fmt.Errorf("ask for the pull request of %s: %w", commit, err)
	}
	number := 0
	for _, p := range pulls {
		if p.MergedAt == "" || !strings.EqualFold(p.Base.Repo.FullName, g.Repository()) {
			continue
		}
		if number != 0 {
			return 0, fmt.Errorf("commit %s is of several pull requests", commit)
		}
		number = p.Number
	}
	if number <= 0 {
		return 0, fmt.Errorf("commit %s is of no pull request that was merged", commit)
	}
	return number, nil
}
