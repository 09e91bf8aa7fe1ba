package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/polex-dev/polex/internal/forge"
)

// pull is a pull request in an answer of the API or in an event.
type pull struct {
	Number      int
	URL         string `json:"html_url"`
	Title, Body string
	Merged      bool   // only in an event
	MergedAt    string `json:"merged_at"`
	MergeCommit string `json:"merge_commit_sha"`
	Commits     int    // only in the answer for one pull request
	User        *user
	Head, Base  end
}

// end is a branch of a pull request. The repository of a head may be gone.
type end struct {
	Ref, SHA string
	Repo     struct {
		FullName string `json:"full_name"`
	}
}

func (e end) in(repository string) bool { return strings.EqualFold(e.Repo.FullName, repository) }

// merged returns the pull request if it was merged in the repository. Forks can share its commits. It
// checks the values that a record or a later request contains.
func (p *pull) merged(server, repository string) (*forge.PullRequest, error) {
	if p.MergedAt == "" || !p.Base.in(repository) {
		return nil, nil
	}
	address := fmt.Sprintf("%s/%s/pull/%d", server, repository, p.Number)
	switch {
	case p.Number <= 0:
		return nil, fmt.Errorf("a pull request has the number %d", p.Number)
	case !strings.EqualFold(p.URL, address):
		return nil, fmt.Errorf("pull request %d says that its address is %q, which is not %q", p.Number, p.URL, address)
	case !hashForm.MatchString(p.Head.SHA):
		return nil, fmt.Errorf("pull request %d says that its last commit is %q", p.Number, p.Head.SHA)
	}
	return &forge.PullRequest{Number: p.Number, URL: address, Base: p.Base.Ref, Merge: p.MergeCommit,
		Head: p.Head.SHA, Author: p.User.account()}, nil
}

// Merged implements [forge.Reviews].
func (c *Client) Merged(ctx context.Context, commit string) (merged []forge.PullRequest, err error) {
	if !hashForm.MatchString(commit) {
		return nil, fmt.Errorf("%q is not a whole hash of a commit", commit)
	}
	var problem error
	err = pages(ctx, c, c.path("/commits/%s/pulls", commit), func(page []pull) bool {
		for _, p := range page {
			m, err := p.merged(c.server, c.repository)
			if problem = cmp.Or(problem, err); m != nil {
				merged = append(merged, *m)
			}
		}
		return problem == nil
	})
	return merged, advise(cmp.Or(err, problem))
}

// open returns the pull request as an open one.
func (p *pull) open() forge.PullRequest {
	return forge.PullRequest{Number: p.Number, URL: p.URL, Branch: p.Head.Ref}
}

// Propose implements [forge.PullRequests].
func (c *Client) Propose(ctx context.Context, p forge.Proposal) (forge.PullRequest, error) {
	found, err := c.openPull(ctx, p)
	if err != nil {
		return found.open(), err
	}
	text := map[string]string{"title": p.Title, "body": p.Body}
	switch {
	case found.Number == 0:
		text["head"], text["base"] = p.Branch, p.Base
		if err = c.send(ctx, http.MethodPost, c.path("/pulls"), text, &found); err == nil && found.Number == 0 {
			err = errors.New("the server reported success, and named no pull request")
		}
		if err == nil {
			break
		}
		// The answer may be lost.
		if there, readErr := c.openPull(ctx, p); readErr == nil && there.Number != 0 {
			return there.open(), nil
		}
	case found.Title != p.Title || found.Body != p.Body:
		err = c.send(ctx, http.MethodPatch, c.path("/pulls/%d", found.Number), text, nil)
	}
	return found.open(), err
}

// openPull returns the open pull request of a branch, or none. A branch of a fork is another
// branch.
func (c *Client) openPull(ctx context.Context, p forge.Proposal) (found pull, err error) {
	owner, _, _ := strings.Cut(c.repository, "/")
	var pulls []pull
	_, err = c.get(ctx, c.path("/pulls"),
		url.Values{"state": {"open"}, "base": {p.Base}, "head": {owner + ":" + p.Branch}}, &pulls)
	for _, pull := range pulls {
		if pull.Head.in(c.repository) && pull.Base.Ref == p.Base && pull.Head.Ref == p.Branch {
			found = pull
		}
	}
	return found, err
}

// Open implements [forge.PullRequests].
func (c *Client) Open(ctx context.Context, base, prefix string) (open []forge.PullRequest, err error) {
	err = pages(ctx, c, c.path("/pulls"), func(page []pull) bool {
		for _, p := range page {
			if p.Head.in(c.repository) && p.Base.Ref == base && strings.HasPrefix(p.Head.Ref, prefix) {
				open = append(open, p.open())
			}
		}
		return true
	})
	return open, err
}

// Close implements [forge.PullRequests].
func (c *Client) Close(ctx context.Context, number int) error {
	return c.send(ctx, http.MethodPatch, c.path("/pulls/%d", number), map[string]string{"state": "closed"}, nil)
}

// IsAncestor implements [forge.PullRequests].
func (c *Client) IsAncestor(ctx context.Context, commit, of string) (bool, error) {
	var compared struct{ Status string }
	_, err := c.get(ctx, c.path("/compare/%s...%s", commit, of), nil, &compared)
	return compared.Status == "ahead" || compared.Status == "identical", err
}

type comment struct {
	ID   int64
	Body string
	User struct{ Login string }
}

// Comment implements [forge.Comments]. It finds its comment by the marker. Everybody can write that
// marker, so only comments of one account count.
func (c *Client) Comment(ctx context.Context, number int, login, marker, text string) (did string, err error) {
	const workflowLogin = "github-actions[bot]" // the account of GitHub's workflows
	defer func() {
		if err != nil {
			err = fmt.Errorf("comment on pull request %d: %w", number, err)
		}
	}()
	if number <= 0 {
		return "", errors.New("this is not the number of one")
	}
	login = cmp.Or(login, workflowLogin)
	body := map[string]string{"body": text}
	// A request without an answer may have created the comment, so look for it before the retry.
	for range 2 {
		old, readErr := c.comment(ctx, number, login, marker)
		var answer comment
		switch {
		case readErr != nil:
			return "", readErr
		case old == nil:
			err = c.send(ctx, http.MethodPost, c.path("/issues/%d/comments", number), body, &answer)
			if err == nil && answer.User.Login != login {
				return "created", fmt.Errorf("it was made, as %q and not as %q: the next run would not find it again",
					answer.User.Login, login)
			}
			if err == nil {
				return "created", nil
			}
		case trimmed(old.Body) == trimmed(text):
			return "unchanged", nil
		default:
			return "changed", c.send(ctx, http.MethodPatch, c.path("/issues/comments/%d", old.ID), body, &answer)
		}
	}
	return "", err
}

// comment returns the account's own comment that begins with a marker, or nil.
func (c *Client) comment(ctx context.Context, number int, login, marker string) (own *comment, err error) {
	err = pages(ctx, c, c.path("/issues/%d/comments", number), func(comments []comment) bool {
		for i, c := range comments {
			if c.User.Login == login && strings.HasPrefix(c.Body, marker) {
				own = &comments[i]
				return false
			}
		}
		return true
	})
	return own, err
}

// trimmed normalizes the line ends and the space at both ends, which a server may change.
func trimmed(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }
