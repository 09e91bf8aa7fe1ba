package review

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/github"
)

// user is an account. Type is User, Bot, Organization or Mannequin.
type user struct {
	ID    int64  `json:"id"`
	Login string `json:"login"`
	Type  string `json:"type"`
}

func (u *user) is(other *user) bool {
	return u != nil && other != nil && (u.ID == other.ID || strings.EqualFold(u.Login, other.Login))
}

// pull is a pull request in an answer of the API or in an event.
type pull struct {
	Number         int    `json:"number"`
	HTMLURL        string `json:"html_url"`
	MergedAt       string `json:"merged_at"`
	MergeCommitSHA string `json:"merge_commit_sha"`
	User           *user  `json:"user"`
	Commits        int    `json:"commits"` // only in the answer for a single pull request
	Head           struct {
		SHA string `json:"sha"`
	} `json:"head"`
	Base struct {
		Ref  string `json:"ref"`
		Repo *struct {
			FullName string `json:"full_name"`
		} `json:"repo"`
	} `json:"base"`
}

// mergedInto reports whether it was merged into this branch of this repository. Forks and other
// branches can share its commits.
func (p *pull) mergedInto(repository, branch string) bool {
	return p.MergedAt != "" && p.Base.Ref == branch && p.Base.Repo != nil &&
		strings.EqualFold(p.Base.Repo.FullName, repository)
}

// check validates the data of a pull request and returns its address.
func (p *pull) check(server, repository string) (address string, err error) {
	address = fmt.Sprintf("%s/%s/pull/%d", server, repository, p.Number)
	switch {
	case p.Number <= 0:
		return "", &UnknownError{What: fmt.Sprintf("a pull request has the number %d", p.Number)}
	case !strings.EqualFold(p.HTMLURL, address):
		return "", &UnknownError{What: fmt.Sprintf("pull request %d says that its address is %q, which is not %q",
			p.Number, p.HTMLURL, address)}
	case !hashForm.MatchString(p.Head.SHA):
		return "", &UnknownError{What: fmt.Sprintf("pull request %d says that its last commit is %q",
			p.Number, p.Head.SHA)}
	case p.User == nil:
		return "", &UnknownError{What: fmt.Sprintf("pull request %d does not state its author", p.Number)}
	}
	return address, checkLogin(p.User.Login)
}

// merged is the merged pull request of an origin.
type merged struct {
	pull
	address string
}

// find returns the pull request that added a commit to the branch, or nil.
func (r *Reviewer) find(ctx context.Context, commit string) (*merged, error) {
	var candidates []pull
	err := github.Pages(ctx, r.api, r.api.Path("/commits/%s/pulls", commit), func(found []pull) bool {
		for _, p := range found {
			if p.mergedInto(r.api.Repository(), r.config.Branch) {
				candidates = append(candidates, p)
			}
		}
		return true
	})
	if err != nil {
		return nil, unanswered("look for the pull request of commit "+commit, err)
	}
	if len(candidates) > maxCandidates {
		return nil, &UnknownError{What: fmt.Sprintf("commit %s is of more than %d pull requests", commit,
			maxCandidates)}
	}
	var found []*merged
	for _, p := range candidates {
		m := &merged{pull: p}
		switch brought, err := r.brought(ctx, m, commit); {
		case err != nil:
			return nil, err
		case brought:
			found = append(found, m)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		found[0].address, err = found[0].check(r.api.Server(), r.api.Repository())
		return found[0], err
	default:
		return nil, &UnknownError{What: fmt.Sprintf("commit %s is the merge of %d pull requests, including %d and %d",
			commit, len(found), found[0].Number, found[1].Number)}
	}
}

const (
	maxCandidates = 20   // maximum number of possible pull requests of a commit
	maxCommits    = 1000 // maximum number of commits in a pull request
)

// brought reports whether commit is the merge of a pull request, or one of the commits of its
// rebase merge. A commit with one parent can be a squash or the last commit of a rebase merge.
func (r *Reviewer) brought(ctx context.Context, m *merged, commit string) (bool, error) {
	if !hashForm.MatchString(m.MergeCommitSHA) {
		return false, &UnknownError{What: fmt.Sprintf("pull request %d says that it was merged as %q", m.Number,
			m.MergeCommitSHA)}
	}
	if m.MergeCommitSHA == commit {
		return true, nil
	}
	last, err := r.config.History.Commit(m.MergeCommitSHA)
	if err != nil {
		return false, missing(fmt.Sprintf("read commit %s, as which pull request %d was merged", m.MergeCommitSHA,
			m.Number), err)
	}
	if len(last.Parents) != 1 {
		return false, nil
	}
	var whole pull
	if _, err := r.api.Get(ctx, r.api.Path("/pulls/%d", m.Number), nil, &whole); err != nil {
		return false, unanswered(fmt.Sprintf("read pull request %d", m.Number), err)
	}
	if whole.Number != m.Number || whole.Commits < 1 || whole.Commits > maxCommits {
		return false, &UnknownError{What: fmt.Sprintf("pull request %d has %d commits, expected 1 to %d", m.Number,
			whole.Commits, maxCommits)}
	}
	series, err := ancestors(r.config.History, m.MergeCommitSHA, whole.Commits-1)
	return slices.Contains(series, commit), err
}
