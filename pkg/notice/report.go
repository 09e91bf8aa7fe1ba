package notice

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// maxRefused is how many exceptions of a report are told of.
const maxRefused = 100

// RefusedIn are the refusals of a report that a command wrote with -o json: one event
// for each exception, or for each file where the report names none. Nothing of it is
// verified. More than 100 are an error.
func RefusedIn(report []byte) ([]Event, error) {
	var r struct {
		APIVersion string
		Kind       string
		Results    []struct{ Outcome, File, Reason, Message, Object string }
	}
	if err := json.Unmarshal(report, &r); err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	if r.APIVersion != "polex.dev/v1alpha1" || r.Kind != "Report" {
		return nil, errors.New("it is no report of polex")
	}
	var events []Event
	for _, result := range r.Results {
		if result.Outcome != "refused" {
			continue
		}
		id := identityOf(result.Object)
		at := slices.IndexFunc(events, func(e Event) bool { return e.Identity == id && e.File == result.File })
		if at < 0 {
			if len(events) == maxRefused {
				return nil, fmt.Errorf("more than %d exceptions were refused", maxRefused)
			}
			events = append(events, Event{Kind: Refused, Identity: id, LogIndex: -1, File: result.File, Refusal: result.Reason, Detail: result.Message})
			continue
		}
		e := &events[at]
		if !slices.Contains(strings.Split(e.Refusal, ", "), result.Reason) {
			e.Refusal += ", " + result.Reason
		}
		e.Detail += "; " + result.Message
	}
	return events, nil
}

// identityOf reads what [exception.Identity.String] writes.
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
