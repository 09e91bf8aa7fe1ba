package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/github"
	"github.com/polex-dev/polex/internal/notify"
	"github.com/polex-dev/polex/internal/notify/send"
	"github.com/polex-dev/polex/internal/retry"
)

// The names in --to.
const (
	toGitHub = "github"
	toJSON   = "json"
	toSlack  = "slack"
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
		if render == nil && name != toGitHub {
			return &cli.UsageError{Err: fmt.Errorf("--to: %q is not one of github, json, slack", name),
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
		add := n.gitHub
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

func (n *notification) gitHub(r *recipient, token string) error {
	r.body = func(e notify.Event) (string, error) { return notify.Markdown(e), nil }
	if n.options.dryRun {
		return nil
	}
	access := github.Workflow(os.Getenv, &http.Client{})
	access.Repository, access.Token = repository(), token
	api, err := github.New(access)
	client := &send.GitHub{Client: api, Login: cmp.Or(n.options.login, send.DefaultLogin)}
	r.send = func(ctx context.Context, e notify.Event) (string, error) {
		number, err := n.pullRequest(e).find(ctx, client)
		if err != nil {
			return "", err
		}
		did, err := client.Comment(ctx, number, e)
		return fmt.Sprintf("comment on pull request %d %s", number, did), err
	}
	return err
}

// repository returns the repository for comments, or "".
func repository() string { return os.Getenv("GITHUB_REPOSITORY") }

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
		number, _ := send.NumberOf(github.Workflow(os.Getenv, nil).ServerURL, repository(), e.PullRequest)
		return pullRequest{number: number}
	}
	if e.Commit != "" {
		return pullRequest{} // no verified record names its pull request
	}
	return pullRequest{n.options.pullRequest, n.options.merged}
}

// find returns the number of the pull request.
func (p pullRequest) find(ctx context.Context, client *send.GitHub) (int, error) {
	switch {
	case p.merged != "":
		return client.PullRequestOf(ctx, p.merged)
	case p.number != 0:
		return p.number, nil
	}
	return 0, errNoPullRequest
}
