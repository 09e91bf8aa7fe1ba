package send

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/polex-dev/polex/internal/github"
	"github.com/polex-dev/polex/internal/notify"
)

// Did is the result of a comment.
type Did string

// The results.
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

// Comment writes an event into a pull request once. It updates its comment if there is one with
// another text.
func (g *GitHub) Comment(ctx context.Context, number int, e notify.Event) (Did, error) {
	if number <= 0 {
		return "", fmt.Errorf("%d is not a pull request", number)
	}
	did, err := g.comment(ctx, number, e)
	if err != nil {
		return "", fmt.Errorf("comment on pull request %d: %w", number, err)
	}
	return did, nil
}

func (g *GitHub) comment(ctx context.Context, number int, e notify.Event) (Did, error) {
	body := map[string]string{"body": notify.Markdown(e)}
	var failed error
	// A request without an answer may have created the comment, so look for it before the retry.
	for range 2 {
		old, err := g.find(ctx, number, e.Marker())
		if err != nil {
			return "", err
		}
		var answer comment
		switch {
		case old == nil:
			failed = g.Send(ctx, http.MethodPost, g.Path("/issues/%d/comments", number), body, &answer)
			if failed != nil {
				continue
			}
			if answer.User.Login != g.Login {
				return Created, fmt.Errorf("it was made, as %q and not as %q: the next run would not find it again",
					answer.User.Login, g.Login)
			}
			return Created, nil
		case trimmed(old.Body) == trimmed(body["body"]):
			return Unchanged, nil
		default:
			return Changed, g.Send(ctx, http.MethodPatch, g.Path("/issues/comments/%d", old.ID), body, &answer)
		}
	}
	return "", failed
}

// find returns the account's own comment that begins with a marker, or nil.
func (g *GitHub) find(ctx context.Context, number int, marker string) (*comment, error) {
	var own *comment
	err := github.Pages(ctx, g.Client, g.Path("/issues/%d/comments", number), func(comments []comment) bool {
		for i, c := range comments {
			if c.User.Login == g.Login && strings.HasPrefix(c.Body, marker) {
				own = &comments[i]
				return false
			}
		}
		return true
	})
	return own, err
}

// trimmed normalizes the line ends and the space at both ends, which a server may change.
func trimmed(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
}
