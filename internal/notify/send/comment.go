package send

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/polex-dev/polex/internal/notify"
)

// Bounds of a pull request's comments, of which GitHub takes 2,500.
const (
	perPage  = 100
	maxPages = 30
)

// Did is what became of a comment.
type Did string

// What can become of one.
const (
	Created   Did = "created"
	Changed   Did = "changed"
	Unchanged Did = "unchanged"
)

type comment struct {
	ID   int64
	Body string
	User struct{ Login string }
}

// Comment says an event in a pull request, once: a comment that says it already is
// changed where it differs.
func (g *GitHub) Comment(ctx context.Context, number int, e notify.Event) (Did, error) {
	if number <= 0 {
		return "", fmt.Errorf("%d is no pull request", number)
	}
	did, err := g.comment(ctx, number, e)
	if err != nil {
		return "", fmt.Errorf("comment on pull request %d: %w", number, err)
	}
	return did, nil
}

func (g *GitHub) comment(ctx context.Context, number int, e notify.Event) (Did, error) {
	body := notify.Markdown(e)
	var failed error
	// A comment whose creation got no answer may be there: it is looked for again
	// before another is made.
	for range 2 {
		there, err := g.find(ctx, number, e.Marker())
		if err != nil {
			return "", err
		}
		var made comment
		switch {
		case there == nil:
			err := g.ask(ctx, http.MethodPost, fmt.Sprintf("/issues/%d/comments", number), map[string]string{"body": body}, &made)
			if err != nil {
				failed = err
				continue
			}
			if made.User.Login != g.login {
				return Created, fmt.Errorf("it was made, as %q and not as %q: the next run would not find it again", made.User.Login, g.login)
			}
			return Created, nil
		case trimmed(there.Body) == trimmed(body):
			return Unchanged, nil
		default:
			return Changed, g.ask(ctx, http.MethodPatch, fmt.Sprintf("/issues/comments/%d", there.ID), map[string]string{"body": body}, &made)
		}
	}
	return "", failed
}

// find returns the account's own comment that begins with a marker, or nil.
func (g *GitHub) find(ctx context.Context, number int, marker string) (*comment, error) {
	for page := 1; page <= maxPages; page++ {
		var comments []comment
		if err := g.ask(ctx, http.MethodGet, fmt.Sprintf("/issues/%d/comments?per_page=%d&page=%d", number, perPage, page), nil, &comments); err != nil {
			return nil, err
		}
		if len(comments) == 0 {
			return nil, nil
		}
		for i, c := range comments {
			if c.User.Login == g.login && strings.HasPrefix(c.Body, marker) {
				return &comments[i], nil
			}
		}
	}
	return nil, fmt.Errorf("it has more than %d pages of comments", maxPages)
}

// trimmed is a text without what a server changes at its ends and line ends.
func trimmed(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
}
