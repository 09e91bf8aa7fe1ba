package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

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
