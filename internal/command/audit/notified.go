package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/notify"
	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/pkg/exception"
)

const (
	maxReport = 32 << 20 // bytes
	// maxSingly is the maximum number of separate messages to people. More events become a summary.
	maxSingly = 50
)

// The reasons of results.
const (
	reasonNotified      = "told"
	reasonNoPullRequest = "no-pull-request"
	reasonNotNotified   = "not-told"
)

const nothingToSend = "no message to send"

func notifyReasons() []exception.Reason {
	return []exception.Reason{
		{Name: reasonNotified, Doc: "a recipient was notified", Severity: exception.SeverityNote},
		{Name: reasonNoPullRequest, Doc: "no verified record names a pull request of the repository to comment on",
			Severity: exception.SeverityWarning},
		{Name: reasonNotNotified, Doc: "a recipient was not notified"},
	}
}

func (n *notification) notify(ctx context.Context) error {
	events, err := n.events(ctx)
	if err != nil {
		return err
	}
	if n.dryRun {
		return n.print(events)
	}
	n.report.Documents = len(events)
	// Send to each recipient in its own goroutine, so that a slow one does not delay the others.
	results := make([][]cli.Result, len(n.recipients))
	var all sync.WaitGroup
	for i, to := range n.recipients {
		all.Go(func() { results[i] = n.sendAll(ctx, to, events) })
	}
	all.Wait()
	for _, some := range results {
		n.report.Add(some...)
	}
	return cli.Finish(n.format, n.streams.Out, n.report)
}

// events returns the events of the history and of the report in --refused.
func (n *notification) events(ctx context.Context) ([]notify.Event, error) {
	var events []notify.Event
	if n.history != nil {
		l, err := n.history.ledger(ctx)
		if err != nil {
			return nil, err
		}
		if n.changes {
			if l.Shallow {
				return nil, cli.Hint(errors.New("the clone is shallow, so the changes of the commit are not known"),
					"git fetch --unshallow, or fetch-depth: 0")
			}
			events = notify.Changes(l)
		}
		if n.ending != "" {
			events = append(events, notify.EndingWithin(l, n.soon)...)
		}
		if n.audits != nil {
			events = append(events, notify.NotUsed(l, n.audits)...)
		}
	}
	if n.refused == "" {
		return events, nil
	}
	raw, err := cli.ReadFileUpTo(n.refused, maxReport)
	if err != nil {
		return nil, fmt.Errorf("--refused: %w", err)
	}
	refused, err := notify.RefusedIn(raw)
	if err != nil {
		err = cli.Hint(fmt.Errorf("--refused %s: %w", n.refused, err), "write the file with polex-sign promote -o json")
	}
	return append(events, refused...), err
}

// messages returns the events for a recipient: all of them for a program, a summary for people if
// there are many.
func (r recipient) messages(events []notify.Event) []notify.Event {
	if r.name == toJSON || len(events) <= maxSingly {
		return events
	}
	return notify.Summarize(events)
}

// sendAll sends all events to one recipient, within the timeout. An error does not stop the others.
func (n *notification) sendAll(ctx context.Context, to recipient, events []notify.Event) []cli.Result {
	timely, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	var results []cli.Result
	for _, e := range to.messages(events) {
		result := cli.Result{Outcome: cli.Pass, Reason: reasonNotified, File: e.File,
			Details: map[string]any{"event": string(e.Kind), "id": e.ID(), "to": to.name}}
		if e.Identity.Name != "" {
			result.Object = e.Identity.String()
		}
		text, err := to.send(timely, e)
		switch {
		case errors.Is(err, errNoPullRequest):
			result.Outcome, result.Reason = cli.Warn, reasonNoPullRequest
			text = "not sent to a pull request: no verified record names one of the repository"
		case err != nil:
			result.Outcome, result.Reason = cli.Unknown, reasonNotNotified
			why := err.Error()
			if ctx.Err() != nil {
				why = "the run was stopped"
			} else if timely.Err() != nil {
				why = fmt.Sprintf("all its notifications together took longer than %s", n.timeout)
			}
			text = to.name + " not notified: " + why
		}
		result.Message = fmt.Sprintf("%s %s: %s", e.Name(), e.Kind, text)
		results = append(results, result)
	}
	return results
}

// print writes the messages of a dry run.
func (n *notification) print(events []notify.Event) error {
	if len(events) == 0 {
		_, err := fmt.Fprintln(n.streams.Out, nothingToSend)
		return err
	}
	for _, to := range n.recipients {
		for _, e := range to.messages(events) {
			body, err := to.body(e)
			if err != nil {
				return err
			}
			where := ""
			if to.render == nil {
				where = ", " + n.where(e)
			}
			if _, err := fmt.Fprintf(n.streams.Out, "to %s%s:\n%s\n", to.name, where, body); err != nil {
				return err
			}
		}
	}
	return nil
}

// where describes the pull request of an event in a dry run, without a network request.
func (n *notification) where(e notify.Event) string {
	switch number, merged := n.pullRequestOf(e); {
	case merged != "":
		return "in the pull request of " + plain.Line(merged)
	case number != 0:
		return fmt.Sprintf("in pull request %d", number)
	case e.Verified || e.Commit != "":
		return "nowhere: no verified record names a pull request of the repository"
	}
	return "nowhere: nothing names a pull request"
}
