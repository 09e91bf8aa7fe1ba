package audit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/forges"
	"github.com/polex-dev/polex/internal/forge"
	"github.com/polex-dev/polex/internal/notify"
	"github.com/polex-dev/polex/internal/notify/send"
	"github.com/polex-dev/polex/internal/retry"
)

// The names in --to, besides those of the forges.
const (
	toJSON  = "json"
	toSlack = "slack"
)

// recipient receives notifications.
type recipient struct {
	name string // in --to
	// body returns the message.
	body func(notify.Event) (string, error)
	// send sends the message and returns a short description of the action.
	send func(context.Context, notify.Event) (string, error)
}

// errNoPullRequest means that an event has no pull request to comment on.
var errNoPullRequest = errors.New("there is no pull request to comment on")

// readRecipients reads --to. A dry run does not read the secrets.
func (n *notification) readRecipients() error {
	for _, to := range n.options.to {
		name, from, ok := strings.Cut(to, "=")
		kind, where, named := strings.Cut(from, ":")
		if !ok || !named || where == "" || kind != "env" && kind != "file" {
			// Do not echo the value: it may be a secret.
			return &cli.UsageError{
				Err:  errors.New("invalid --to: expected ADDRESSEE=env:NAME or ADDRESSEE=file:PATH"),
				Hint: "a secret does not belong on a command line, where others see it",
			}
		}
		render := map[string]send.Render{toJSON: notify.JSON, toSlack: notify.Slack}[name]
		if render == nil && !slices.Contains(forges.Names(), name) {
			return &cli.UsageError{Err: fmt.Errorf("--to: %q is not one of %s, json, slack", name,
				strings.Join(forges.Names(), ", ")),
				Hint: "json sends to any other webhook, such as one of Teams whose workflow makes a message of it"}
		}
		secret := ""
		if !n.options.dryRun {
			var err error
			if secret, err = secretIn(kind, where); err != nil {
				return err
			}
		}
		r := recipient{name: name}
		add := n.comments
		if render != nil {
			add = func(r *recipient, address string) error { return n.webhook(r, render, address) }
		}
		err := add(&r, secret)
		if err != nil {
			return &cli.UsageError{Err: fmt.Errorf("--to %s=%s:%s: %w", name, kind, where, err)}
		}
		n.recipients = append(n.recipients, r)
	}
	return nil
}

func secretIn(kind, where string) (string, error) {
	name := "the environment variable " + where
	text, set := os.LookupEnv(where)
	if kind == "file" {
		raw, err := cli.ReadFile(where)
		if err != nil {
			return "", &cli.UsageError{Err: fmt.Errorf("--to: %w", err)}
		}
		name, text, set = "the file "+where, string(raw), true
	}
	switch text = strings.TrimSpace(text); {
	case !set:
		return "", &cli.UsageError{Err: fmt.Errorf("--to: %s is not set", name),
			Hint: "set it to the secret, or name a file with file:PATH"}
	case text == "":
		return "", cli.Usagef("--to: %s is empty", name)
	}
	return text, nil
}

func (n *notification) webhook(r *recipient, render send.Render, address string) error {
	r.body = func(e notify.Event) (string, error) {
		raw, err := render(e)
		return string(raw), err
	}
	if n.options.dryRun {
		return nil
	}
	hook, err := send.NewWebhook(&http.Client{}, retry.Timing{}, render, address)
	r.send = func(ctx context.Context, e notify.Event) (string, error) {
		return "told " + r.name, hook.Send(ctx, e)
	}
	return err
}

func (n *notification) comments(r *recipient, token string) error {
	r.body = func(e notify.Event) (string, error) { return notify.Markdown(e), nil }
	if n.options.dryRun {
		return nil
	}
	client, err := forges.Workflow(os.Getenv).Open(token, retry.Timing{})
	r.send = func(ctx context.Context, e notify.Event) (string, error) {
		number, err := n.pullRequest(e).find(ctx, client)
		if err != nil {
			return "", err
		}
		did, err := client.Comment(ctx, number, n.options.login, e.Marker(), notify.Markdown(e))
		return fmt.Sprintf("comment on pull request %d %s", number, did), err
	}
	return err
}

// pullRequest is the pull request of an event: its number, or the merge commit. Both are empty if
// the event has none.
type pullRequest struct {
	number int
	merged string
}

// pullRequest returns the pull request in the signed record. For a rejection, it returns the one from
// the command line.
func (n *notification) pullRequest(e notify.Event) pullRequest {
	if e.Verified {
		number, _ := forges.Workflow(os.Getenv).NumberOf(e.PullRequest)
		return pullRequest{number: number}
	}
	if e.Commit != "" {
		return pullRequest{} // no verified record names its pull request
	}
	return pullRequest{n.options.pullRequest, n.options.merged}
}

// find returns the number of the pull request.
func (p pullRequest) find(ctx context.Context, client forge.Forge) (int, error) {
	switch {
	case p.merged != "":
		return forge.MergeOf(ctx, client, p.merged)
	case p.number != 0:
		return p.number, nil
	}
	return 0, errNoPullRequest
}
