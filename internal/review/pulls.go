package review

import (
	"context"
	"fmt"
	"slices"

	"github.com/polex-dev/polex/internal/forge"
)

// find returns the pull request that added a commit to the branch, or nil.
func (r *Reviewer) find(ctx context.Context, commit string) (*forge.PullRequest, error) {
	candidates, err := r.config.Reviews.Merged(ctx, commit)
	if err != nil {
		return nil, unanswered("look for the pull request of commit "+commit, err)
	}
	candidates = slices.DeleteFunc(candidates, func(p forge.PullRequest) bool { return p.Base != r.config.Branch })
	if len(candidates) > maxCandidates {
		return nil, &UnknownError{What: fmt.Sprintf("commit %s is of more than %d pull requests", commit,
			maxCandidates)}
	}
	var found []*forge.PullRequest
	for i := range candidates {
		switch brought, err := r.brought(ctx, &candidates[i], commit); {
		case err != nil:
			return nil, err
		case brought:
			found = append(found, &candidates[i])
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], checkAuthor(found[0])
	default:
		return nil, &UnknownError{What: fmt.Sprintf("commit %s is the merge of %d pull requests, including %d and %d",
			commit, len(found), found[0].Number, found[1].Number)}
	}
}

// checkAuthor rejects a pull request without a valid author.
func checkAuthor(p *forge.PullRequest) error {
	if p.Author == nil {
		return &UnknownError{What: fmt.Sprintf("pull request %d does not state its author", p.Number)}
	}
	return checkLogin(p.Author.Login)
}

const (
	maxCandidates = 20   // maximum number of possible pull requests of a commit
	maxCommits    = 1000 // maximum number of commits in a pull request
)

// brought reports whether commit is the merge of a pull request, or one of the commits of its
// rebase merge. A commit with one parent can be a squash or the last commit of a rebase merge.
func (r *Reviewer) brought(ctx context.Context, m *forge.PullRequest, commit string) (bool, error) {
	if !hashForm.MatchString(m.Merge) {
		return false, &UnknownError{What: fmt.Sprintf("pull request %d says that it was merged as %q", m.Number,
			m.Merge)}
	}
	if m.Merge == commit {
		return true, nil
	}
	last, err := r.config.History.Commit(m.Merge)
	if err != nil {
		return false, missing(fmt.Sprintf("read commit %s, as which pull request %d was merged", m.Merge,
			m.Number), err)
	}
	if len(last.Parents) != 1 {
		return false, nil
	}
	count, err := r.config.Reviews.CommitCount(ctx, m.Number)
	if err != nil {
		return false, unanswered(fmt.Sprintf("read pull request %d", m.Number), err)
	}
	if count < 1 || count > maxCommits {
		return false, &UnknownError{What: fmt.Sprintf("pull request %d has %d commits, expected 1 to %d", m.Number,
			count, maxCommits)}
	}
	series, err := ancestors(r.config.History, m.Merge, count-1)
	return slices.Contains(series, commit), err
}
