package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// maxDetails limits the messages about one exception.
const maxDetails = 20

// RefusedIn returns the rejections in a report of -o json: one event for each exception, or for
// each file without one. Nothing in it is verified.
func RefusedIn(report []byte) ([]Event, error) {
	var r struct {
		APIVersion string
		Kind       string
		Results    []struct{ Outcome, File, Reason, Message, Object string }
	}
	if err := json.Unmarshal(report, &r); err != nil {
		return nil, fmt.Errorf("it is not a report in JSON: %w", err)
	}
	if r.APIVersion != "polex.dev/v1alpha1" || r.Kind != "Report" {
		return nil, errors.New("it is not a report of polex")
	}
	type key struct {
		id   exception.Identity
		file string
	}
	var events []Event
	at := map[key]int{}
	details := map[key]int{}
	for _, result := range r.Results {
		if result.Outcome != "refused" {
			continue
		}
		k := key{identityOf(result.Object), result.File}
		n, known := at[k]
		if !known {
			at[k] = len(events)
			events = append(events, Event{Kind: Refused, Identity: k.id, LogIndex: -1, File: result.File,
				Refusal: result.Reason, Detail: result.Message})
			continue
		}
		if details[k]++; details[k] >= maxDetails {
			if details[k] == maxDetails {
				events[n].Detail += "; and more"
			}
			continue
		}
		e := &events[n]
		if !slices.Contains(strings.Split(e.Refusal, ", "), result.Reason) {
			e.Refusal += ", " + result.Reason
		}
		e.Detail += "; " + result.Message
	}
	return events, nil
}

// identityOf parses the output of [exception.Identity.String].
func identityOf(object string) exception.Identity {
	kind, name, named := strings.Cut(object, " ")
	if !named {
		return exception.Identity{}
	}
	var id exception.Identity
	id.Kind, id.Group, _ = strings.Cut(kind, ".")
	var inNamespace bool
	if id.Namespace, id.Name, inNamespace = strings.Cut(name, "/"); !inNamespace {
		id.Namespace, id.Name = "", name
	}
	return id
}

// MaxMembers is the maximum number of events in a summary, which fit into a message of Slack.
const MaxMembers = 25

// Summarize groups all events into summaries of at most [MaxMembers], and keeps their order. The
// members of a summary have the same kind, commit and pull request, and are all verified or all
// unverified.
func Summarize(events []Event) []Event {
	type key struct {
		kind                Kind
		verified            bool
		commit, pullRequest string
	}
	var summaries []Event
	at := map[key]int{}
	for _, e := range events {
		k := key{e.Kind, e.Verified, e.Commit, e.PullRequest}
		n, known := at[k]
		if !known || len(summaries[n].Members) == MaxMembers {
			n = len(summaries)
			at[k] = n
			summaries = append(summaries, Event{Kind: e.Kind, Verified: e.Verified, Commit: e.Commit,
				PullRequest: e.PullRequest, LogIndex: -1})
		}
		summaries[n].Members = append(summaries[n].Members, e)
	}
	return summaries
}
