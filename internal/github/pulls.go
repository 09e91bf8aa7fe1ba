package github

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// Proposal is the content of a pull request for a branch of this repository.
type Proposal struct{ Head, Base, Title, Body string }

// Pull is an open pull request.
type Pull struct {
	Number int
	URL    string `json:"html_url"`
	Title  string
	Body   string
	Head   pullBranch
	Base   pullBranch
}

type pullBranch struct {
	Ref  string
	Repo struct {
		FullName string `json:"full_name"`
	}
}

// Propose opens the pull request of a branch. If it is open already, Propose updates its text.
func (c *Client) Propose(ctx context.Context, p Proposal) (Pull, error) {
	found, err := c.openPull(ctx, p)
	if err != nil {
		return found, err
	}
	text := map[string]string{"title": p.Title, "body": p.Body}
	switch {
	case found.Number == 0:
		text["head"], text["base"] = p.Head, p.Base
		if err = c.Send(ctx, http.MethodPost, c.Path("/pulls"), text, &found); err == nil && found.Number == 0 {
			err = errors.New("the server reported success, and named no pull request")
		}
		if err == nil {
			return found, nil
		}
		// The answer may be lost.
		if there, readErr := c.openPull(ctx, p); readErr == nil && there.Number != 0 {
			return there, nil
		}
	case found.Title != p.Title || found.Body != p.Body:
		err = c.Send(ctx, http.MethodPatch, c.Path("/pulls/%d", found.Number), text, nil)
	}
	return found, err
}

// openPull returns the open pull request of a branch, or none. A branch of a fork is another
// branch.
func (c *Client) openPull(ctx context.Context, p Proposal) (found Pull, err error) {
	owner, _, _ := strings.Cut(c.repository, "/")
	var pulls []Pull
	if _, err = c.Get(ctx, c.Path("/pulls"),
		url.Values{"state": {"open"}, "base": {p.Base}, "head": {owner + ":" + p.Head}}, &pulls); err != nil {
		return found, err
	}
	for _, pull := range pulls {
		if c.isOf(pull, p.Base) && pull.Head.Ref == p.Head {
			found = pull
		}
	}
	return found, nil
}

func (c *Client) isOf(p Pull, base string) bool {
	return strings.EqualFold(p.Head.Repo.FullName, c.repository) && p.Base.Ref == base
}

// OpenPulls returns the open pull requests from branches of this repository that begin with a
// prefix.
func (c *Client) OpenPulls(ctx context.Context, base, prefix string) ([]Pull, error) {
	var found []Pull
	err := Pages(ctx, c, c.Path("/pulls"), func(page []Pull) bool {
		for _, pull := range page {
			if c.isOf(pull, base) && strings.HasPrefix(pull.Head.Ref, prefix) {
				found = append(found, pull)
			}
		}
		return true
	})
	return found, err
}

// ClosePull closes a pull request without a merge.
func (c *Client) ClosePull(ctx context.Context, number int) error {
	return c.Send(ctx, http.MethodPatch, c.Path("/pulls/%d", number), map[string]string{"state": "closed"}, nil)
}

// IsAncestor reports whether a commit is contained in another one. Both may be abbreviated.
func (c *Client) IsAncestor(ctx context.Context, commit, of string) (bool, error) {
	var compared struct{ Status string }
	_, err := c.Get(ctx, c.Path("/compare/%s...%s", commit, of), nil, &compared)
	return compared.Status == "ahead" || compared.Status == "identical", err
}
