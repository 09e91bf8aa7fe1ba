package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/notify"
	"github.com/polex-dev/polex/internal/notify/send"
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
	reasonTold    = "told"
	reasonNowhere = "no-pull-request"
	reasonNotTold = "not-told"
)

const nothingToTell = "no message to send"

func notifyReasons() []exception.Reason {
	return []exception.Reason{
		{Name: reasonTold, Doc: "a recipient was notified", Severity: exception.SeverityNote},
		{Name: reasonNowhere, Doc: "no verified record names a pull request of the repository to comment on", Severity: exception.SeverityWarning},
		{Name: reasonNotTold, Doc: "a recipient was not notified"},
	}
}

func (n *notification) notify(ctx context.Context) error {
	events, err := n.events()
	if err != nil {
		return err
	}
	n.report.Documents = len(events)
	if n.options.dryRun {
		return n.print(events)
	}
	// Send to each addressee in its own goroutine, so that a slow one does not delay the others.
	results := make([][]cli.Result, len(n.told))
	var line sync.WaitGroup
	for i, a := range n.told {
		line.Go(func() { results[i] = n.tellAll(ctx, a, events) })
	}
	line.Wait()
	for _, some := range results {
		n.report.Add(some...)
	}
	return cli.Finish(n.format, n.streams.Out, n.report)
}

// events returns the events of the history and of the report in --refused.
func (n *notification) events() ([]notify.Event, error) {
	o := n.options
	var events []notify.Event
	if n.history != nil {
		l, err := n.history.ledger()
		if err != nil {
			return nil, err
		}
		if o.changes {
			if l.Shallow {
				return nil, cli.Hint(errors.New("the clone is shallow, so the changes of the commit are not known"), "git fetch --unshallow, or fetch-depth: 0")
			}
			events = append(events, notify.Changes(l)...)
		}
		if o.ending != "" {
			events = append(events, notify.EndingWithin(l, n.soon)...)
		}
	}
	if o.refused != "" {
		raw, err := cli.ReadFileUpTo(o.refused, maxReport)
		if err != nil {
			return nil, fmt.Errorf("--refused: %w", err)
		}
		refused, err := notify.RefusedIn(raw)
		if err != nil {
			return nil, cli.Hint(fmt.Errorf("--refused %s: %w", o.refused, err), "write the file with polex-sign promote -o json")
		}
		events = append(events, refused...)
	}
	return events, nil
}

// tellAll sends all events to one addressee, within the timeout.
func (n *notification) tellAll(ctx context.Context, a addressee, events []notify.Event) []cli.Result {
	timely, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	var results []cli.Result
	for _, e := range a.singly(events) {
		result := n.tell(timely, a, e)
		if result.Outcome == cli.Unknown && timely.Err() != nil {
			result.Message = fmt.Sprintf("%s %s: %s not notified: all its notifications together took longer than %s",
				e.Name(), e.Kind, a.name, n.timeout)
			if ctx.Err() != nil {
				result.Message = fmt.Sprintf("%s %s: %s not notified: the run was stopped", e.Name(), e.Kind, a.name)
			}
		}
		results = append(results, result)
	}
	return results
}

// singly returns the events for an addressee: all of them for a program, a summary for people if
// there are many.
func (a addressee) singly(events []notify.Event) []notify.Event {
	if a.name == string(send.JSON) || len(events) <= maxSingly {
		return events
	}
	return notify.Summarize(events)
}

// tell sends one event to one addressee. An error does not stop the other notifications.
func (n *notification) tell(ctx context.Context, a addressee, e notify.Event) cli.Result {
	result := cli.Result{Outcome: cli.Pass, Reason: reasonTold, File: e.File, Details: map[string]any{"event": string(e.Kind), "id": e.ID(), "to": a.name}}
	if e.Identity.Name != "" {
		result.Object = e.Identity.String()
	}
	did, err := a.tell(ctx, e)
	switch {
	case errors.Is(err, errNowhere):
		result.Outcome, result.Reason = cli.Warn, reasonNowhere
		did = "not sent to a pull request: no verified record names one of the repository"
	case err != nil:
		result.Outcome, result.Reason = cli.Unknown, reasonNotTold
		did = fmt.Sprintf("%s not notified: %s", a.name, err)
	}
	result.Message = fmt.Sprintf("%s %s: %s", e.Name(), e.Kind, did)
	return result
}

// print writes the messages of a dry run.
func (n *notification) print(events []notify.Event) error {
	if len(events) == 0 {
		_, err := fmt.Fprintln(n.streams.Out, nothingToTell)
		return err
	}
	for _, a := range n.told {
		for _, e := range a.singly(events) {
			body, err := a.body(e)
			if err != nil {
				return err
			}
			where := ""
			if a.name == "github" {
				where = n.where(e)
			}
			if _, err := fmt.Fprintf(n.streams.Out, "to %s%s:\n%s\n", a.name, where, body); err != nil {
				return err
			}
		}
	}
	return nil
}

// where describes the pull request in a dry run, without a network request.
func (n *notification) where(e notify.Event) string {
	switch p := n.place(e); {
	case p.merged != "":
		return ", in the pull request of " + plain.Line(p.merged)
	case p.number != 0:
		return fmt.Sprintf(", in pull request %d", p.number)
	case e.Verified || e.Commit != "":
		return ", nowhere: no verified record names a pull request of the repository"
	default:
		return ", nowhere: nothing names a pull request"
	}
}
