package github

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/polex-dev/polex/internal/forge"
)

// user is an account. Type is User, Bot, Organization or Mannequin.
type user struct {
	ID          int64
	Login, Type string
}

func (u *user) account() *forge.Account {
	if u == nil {
		return nil
	}
	return &forge.Account{ID: u.ID, Login: u.Login, Person: u.Type == "User"}
}

// CommitCount implements [forge.Reviews].
func (c *Client) CommitCount(ctx context.Context, number int) (int, error) {
	var p pull
	_, err := c.get(ctx, c.path("/pulls/%d", number), nil, &p)
	if err == nil && p.Number != number {
		err = fmt.Errorf("the answer is about pull request %d", p.Number)
	}
	return p.Commits, advise(err)
}

// given is one review. It ignores author_association of the API, which does not prove write access.
type given struct {
	ID          int64
	User        *user // nil if the account was deleted
	State       string
	CommitID    string `json:"commit_id"`
	SubmittedAt string `json:"submitted_at"` // RFC 3339, UTC
}

// deciding are the states of a review that decide. A comment does not change an earlier decision.
var deciding = map[string]bool{"APPROVED": true, "CHANGES_REQUESTED": true, "DISMISSED": true}

// Approvals implements [forge.Reviews].
func (c *Client) Approvals(ctx context.Context, number int) ([]forge.Approval, error) {
	last := map[int64]given{}
	var problem error
	err := pages(ctx, c, c.path("/pulls/%d/reviews", number), func(page []given) bool {
		for _, g := range page {
			if g.User == nil || !deciding[g.State] {
				continue
			}
			if g.SubmittedAt == "" || g.User.ID == 0 {
				problem = fmt.Errorf("review %d has no time or no author", g.ID)
			}
			before, again := last[g.User.ID]
			if !again || cmp.Or(strings.Compare(before.SubmittedAt, g.SubmittedAt), cmp.Compare(before.ID, g.ID)) <= 0 {
				last[g.User.ID] = g
			}
		}
		return true
	})
	if err = cmp.Or(err, problem); err != nil {
		return nil, advise(err)
	}
	var approvals []forge.Approval
	for _, g := range last {
		if g.State == "APPROVED" {
			approvals = append(approvals, forge.Approval{By: *g.User.account(), Commit: g.CommitID})
		}
	}
	return approvals, nil
}

// Commit implements [forge.Reviews].
func (c *Client) Commit(ctx context.Context, hash string) (forge.Commit, error) {
	var answer struct {
		SHA               string
		Commit            struct{ Tree struct{ SHA string } }
		Author, Committer *user
	}
	// One file a page keeps the answer short, because the files of the commit are not needed.
	_, err := c.get(ctx, c.path("/commits/%s", hash), url.Values{"per_page": {"1"}}, &answer)
	commit := forge.Commit{Tree: answer.Commit.Tree.SHA}
	if err == nil && (answer.SHA != hash || !hashForm.MatchString(commit.Tree)) {
		err = fmt.Errorf("the answer is about commit %q", answer.SHA)
	}
	for _, writer := range []*user{answer.Author, answer.Committer} {
		if writer != nil {
			commit.Writers = append(commit.Writers, *writer.account())
		}
	}
	return commit, advise(err)
}

// Folder implements [forge.Reviews].
func (c *Client) Folder(ctx context.Context, hash string) ([]forge.Entry, error) {
	if !hashForm.MatchString(hash) {
		return nil, fmt.Errorf("%q is not a hash", hash)
	}
	var answer struct {
		Tree      []forge.Entry
		Truncated bool
	}
	_, err := c.get(ctx, c.path("/git/trees/%s", hash), nil, &answer)
	if err == nil && answer.Truncated {
		err = fmt.Errorf("the answer is incomplete")
	}
	return answer.Tree, advise(err)
}

// MayWrite implements [forge.Reviews].
func (c *Client) MayWrite(ctx context.Context, a forge.Account) (bool, error) {
	var answer struct {
		Permission string // admin, write, read or none
		User       *user
	}
	_, err := c.get(ctx, c.path("/collaborators/%s/permission", url.PathEscape(a.Login)), nil, &answer)
	if err == nil && (answer.User == nil || answer.User.ID != a.ID) {
		err = fmt.Errorf("the answer is about another user")
	}
	return answer.Permission == "admin" || answer.Permission == "write", advise(err)
}
