package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/github"
	"github.com/polex-dev/polex/internal/notify"
	"github.com/polex-dev/polex/internal/notify/send"
	"github.com/polex-dev/polex/internal/retry"
)

// addressee is a recipient of notifications.
type addressee struct {
	name string // the name in --to
	// body returns the message.
	body func(notify.Event) (string, error)
	// tell sends the message and returns a short description of the action.
	tell func(context.Context, notify.Event) (string, error)
}

// errNowhere means that an event has no pull request to comment on.
var errNowhere = errors.New("there is no pull request to comment on")

// addressees reads --to. A dry run does not read the secrets.
func (n *notification) addressees() error {
	for _, to := range n.options.to {
		whom, from, ok := strings.Cut(to, "=")
		kind, where, named := strings.Cut(from, ":")
		if !ok || !named || where == "" || kind != "env" && kind != "file" {
			// Do not echo the value: it may be a secret.
			return &cli.UsageError{Err: errors.New("invalid --to: expected ADDRESSEE=env:NAME or ADDRESSEE=file:PATH"), Hint: "a secret does not belong on a command line, where others see it"}
		}
		form := send.Form(whom)
		if !slices.Contains([]send.Form{"github", send.JSON, send.Slack}, form) {
			return &cli.UsageError{Err: fmt.Errorf("--to: %q is not one of github, json, slack", whom), Hint: "json sends to any other webhook, such as one of Teams whose workflow makes a message of it"}
		}
		a := addressee{name: whom}
		secret, err := n.secret(kind, where)
		if err != nil {
			return err
		}
		if whom == "github" {
			err = n.gitHub(&a, secret)
		} else {
			err = n.webhook(&a, form, secret)
		}
		if err != nil {
			return &cli.UsageError{Err: fmt.Errorf("--to %s=%s:%s: %w", whom, kind, where, err)}
		}
		n.told = append(n.told, a)
	}
	return nil
}

func (n *notification) secret(kind, where string) (string, error) {
	if n.options.dryRun {
		return "", nil
	}
	text := ""
	if kind == "env" {
		var set bool
		if text, set = os.LookupEnv(where); !set {
			return "", &cli.UsageError{Err: fmt.Errorf("--to: the environment variable %s is not set", where), Hint: "set it to the secret, or name a file with file:PATH"}
		}
	} else {
		raw, err := cli.ReadFile(where)
		if err != nil {
			return "", &cli.UsageError{Err: fmt.Errorf("--to: %w", err)}
		}
		text = string(raw)
	}
	if text = strings.TrimSpace(text); text == "" {
		return "", cli.Usagef("--to: %s %s is empty", map[string]string{"env": "the environment variable", "file": "the file"}[kind], where)
	}
	return text, nil
}

func (n *notification) webhook(a *addressee, form send.Form, secret string) error {
	a.body = func(e notify.Event) (string, error) {
		raw, err := send.Render(form, e)
		return string(raw), err
	}
	if n.options.dryRun {
		return nil
	}
	hook, err := send.NewWebhook(&http.Client{}, retry.Timing{}, form, secret)
	if err != nil {
		return err
	}
	a.tell = func(ctx context.Context, e notify.Event) (string, error) {
		return "told " + string(form), hook.Send(ctx, e)
	}
	return nil
}

func (n *notification) gitHub(a *addressee, token string) error {
	a.body = func(e notify.Event) (string, error) { return notify.Markdown(e), nil }
	if n.options.dryRun {
		return nil
	}
	access := github.Workflow(os.Getenv, &http.Client{})
	access.Repository, access.Token = repository(), token
	api, err := github.New(access)
	if err != nil {
		return err
	}
	client := &send.GitHub{Client: api, Login: cmp.Or(n.options.login, send.DefaultLogin)}
	a.tell = func(ctx context.Context, e notify.Event) (string, error) {
		number, err := n.pullRequest(ctx, client, e)
		if err != nil {
			return "", err
		}
		did, err := client.Comment(ctx, number, e)
		return fmt.Sprintf("comment on pull request %d %s", number, did), err
	}
	return nil
}

func serverURL() string { return github.Workflow(os.Getenv, nil).ServerURL }

// repository returns the repository for comments, or "".
func repository() string { return os.Getenv("GITHUB_REPOSITORY") }

// place is the pull request of an event: its number, or the merge commit. Both are empty if the
// event has none.
type place struct {
	number int
	merged string
}

// place returns the pull request in the signed record. For a rejection, it returns the one from the
// command line.
func (n *notification) place(e notify.Event) place {
	if e.Verified {
		number, _ := send.NumberOf(serverURL(), repository(), e.PullRequest)
		return place{number: number}
	}
	if e.Commit != "" {
		return place{} // no verified record names its pull request
	}
	return place{n.options.pullRequest, n.options.merged}
}

// pullRequest returns the number of the pull request of an event.
func (n *notification) pullRequest(ctx context.Context, client *send.GitHub, e notify.Event) (int, error) {
	switch p := n.place(e); {
	case p.merged != "":
		return client.PullRequestOf(ctx, p.merged)
	case p.number != 0:
		return p.number, nil
	default:
		return 0, errNowhere
	}
}
