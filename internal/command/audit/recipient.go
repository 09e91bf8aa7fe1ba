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

// recipient receives notifications: a webhook, or the pull requests of a forge.
type recipient struct {
	name   string      // in --to
	render send.Render // nil for a forge
	// send sends the message and returns a short description of the action. It is nil in a dry run.
	send func(context.Context, notify.Event) (string, error)
}

// body returns the message.
func (r recipient) body(e notify.Event) (string, error) {
	if r.render == nil {
		return notify.Markdown(e), nil
	}
	raw, err := r.render(e)
	return string(raw), err
}

// errNoPullRequest means that an event has no pull request to comment on.
var errNoPullRequest = errors.New("there is no pull request to comment on")

// readRecipients reads --to. A dry run does not read the secrets.
func (n *notification) readRecipients() error {
	for _, to := range n.to {
		name, from, _ := strings.Cut(to, "=")
		kind, where, _ := strings.Cut(from, ":")
		if where == "" || kind != "env" && kind != "file" {
			// Do not echo the value: it may be a secret.
			return cli.UsageHint("a secret does not belong on a command line, where others see it",
				"invalid --to: expected ADDRESSEE=env:NAME or ADDRESSEE=file:PATH")
		}
		r := recipient{name: name, render: map[string]send.Render{toJSON: notify.JSON, toSlack: notify.Slack}[name]}
		if r.render == nil && !slices.Contains(forges.Names(), name) {
			return cli.UsageHint(
				"json sends to any other webhook, such as one of Teams whose workflow makes a message of it",
				"--to: %q is not one of %s, json, slack", name, strings.Join(forges.Names(), ", "))
		}
		if !n.dryRun {
			secret, err := secretIn(kind, where)
			if err != nil {
				return err
			}
			if r.send, err = n.sender(r, secret); err != nil {
				return cli.Usagef("--to %s=%s:%s: %w", name, kind, where, err)
			}
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
			return "", cli.Usagef("--to: %w", err)
		}
		name, text, set = "the file "+where, string(raw), true
	}
	switch text = strings.TrimSpace(text); {
	case !set:
		return "", cli.UsageHint("set it to the secret, or name a file with file:PATH", "--to: %s is not set", name)
	case text == "":
		return "", cli.Usagef("--to: %s is empty", name)
	}
	return text, nil
}

// sender returns the function that sends messages to a recipient. secret is the address of a webhook, or the token of
// a forge.
func (n *notification) sender(r recipient, secret string) (func(context.Context, notify.Event) (string, error), error) {
	if r.render != nil {
		hook, err := send.NewWebhook(&http.Client{}, retry.Timing{}, r.render, secret)
		return func(ctx context.Context, e notify.Event) (string, error) {
			return "told " + r.name, hook.Send(ctx, e)
		}, err
	}
	client, err := forges.Workflow(os.Getenv).Open(secret, retry.Timing{})
	return func(ctx context.Context, e notify.Event) (string, error) {
		number, merged := n.pullRequestOf(e)
		if merged != "" {
			var err error
			if number, err = forge.MergeOf(ctx, client, merged); err != nil {
				return "", err
			}
		}
		if number == 0 {
			return "", errNoPullRequest
		}
		did, err := client.Comment(ctx, number, n.login, e.Marker(), notify.Markdown(e))
		return fmt.Sprintf("comment on pull request %d %s", number, did), err
	}, err
}

// pullRequestOf returns the number of the pull request in the signed record, or, for a rejection, the number or the
// merge commit of the command line.
func (n *notification) pullRequestOf(e notify.Event) (number int, merged string) {
	switch {
	case e.Verified:
		number, _ = forges.Workflow(os.Getenv).NumberOf(e.PullRequest)
		return number, ""
	case e.Commit != "":
		return 0, "" // no verified record names its pull request
	}
	return n.pullRequest, n.merged
}
