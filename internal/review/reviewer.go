package review

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/polex-dev/polex/internal/forge"
	"github.com/polex-dev/polex/pkg/exception"
)

// Config sets the source of the records and the required approvals.
type Config struct {
	Source Source
	// Reviews is the API for SourceAPI.
	Reviews forge.Reviews
	// Event is the pull request that the workflow's event merged, or nil. It is for SourceEvent.
	Event *forge.PullRequest
	// Branch is the target branch, without refs/heads/.
	Branch  string
	History History

	// RequireApprovals is the number of required approvals, 0 to 100.
	RequireApprovals int
	// Renewals are additional requirements for renewals.
	Renewals Renewals
	// InsecureAllowStaleApprovals counts approvals of earlier commits of the pull request too.
	InsecureAllowStaleApprovals bool
	// InsecureCountTrailers counts approvals in the commit message, which the author of the commit
	// can forge.
	InsecureCountTrailers bool
}

// asks reports whether every record needs an approval.
func (c *Config) asks() bool { return c.RequireApprovals > 0 }

// asksApprovals reports whether some record needs a number of approvals.
func (c *Config) asksApprovals() bool { return c.RequireApprovals > 0 || c.Renewals.asks() }

const maxRequired = 100

// Reviewer makes records. It is not safe for concurrent use.
type Reviewer struct {
	config Config
	writes map[string]bool // write access, by login
}

// New checks a configuration. An impossible requirement is an error, such as approvals from a
// source that does not prove them.
func New(c Config) (*Reviewer, error) {
	r := &Reviewer{config: c, writes: map[string]bool{}}
	switch {
	case c.History == nil:
		return nil, errors.New("review: no history")
	case c.Branch == "" || strings.HasPrefix(c.Branch, "refs/"):
		return nil, fmt.Errorf("%q is not the name of a branch", c.Branch)
	case c.RequireApprovals < 0 || c.RequireApprovals > maxRequired:
		return nil, fmt.Errorf("%d approvals cannot be required, only 0 to %d", c.RequireApprovals, maxRequired)
	case c.Renewals.RequireApprovals < 0 || c.Renewals.RequireApprovals > maxRequired:
		return nil, fmt.Errorf("%d approvals cannot be required of a renewal, only 0 to %d",
			c.Renewals.RequireApprovals, maxRequired)
	case c.Renewals.RequireApprovals > 0 && c.Renewals.RequireApprovals < c.RequireApprovals:
		return nil, fmt.Errorf("%d approvals are required of a renewal, and %d of a first exception: a renewal must "+
			"not require fewer", c.Renewals.RequireApprovals, c.RequireApprovals)
	case c.InsecureCountTrailers && c.Source != SourceTrailers:
		return nil, fmt.Errorf("approvals are counted from trailers, and the record is from %q", c.Source)
	}
	switch c.Source {
	case SourceAPI:
		if c.Reviews == nil {
			return nil, errors.New("review: no API")
		}
	case SourceEvent:
		if c.asksApprovals() {
			return nil, errors.New("approvals are required, and an event has none: use the API (promote.record: api) " +
				"and a token for it")
		}
	case SourceTrailers:
		if c.asksApprovals() && !c.InsecureCountTrailers {
			return nil, errors.New("required approvals need promote.record: api, since any author can write names " +
				"into a commit message; promote.approvalsFrom: trailers counts them")
		}
	default:
		return nil, fmt.Errorf("there is no source %q of records, expected api, event or trailers", c.Source)
	}
	return r, nil
}

// Record returns the review record of an origin. It returns [exception.Refusals], one for each
// file, if an approval is missing. It returns another error, often an [*UnknownError], if the
// review cannot be determined.
func (r *Reviewer) Record(ctx context.Context, o Origin) (*Record, error) {
	if !hashForm.MatchString(o.Commit) {
		return nil, fmt.Errorf("%q is not the hash of a commit", o.Commit)
	}
	if len(o.Files) == 0 {
		return nil, fmt.Errorf("commit %s added no file to sign", o.Commit)
	}
	record := &Record{Source: r.config.Source, Commit: o.Commit, Branch: r.config.Branch}
	switch r.config.Source {
	case SourceAPI:
		return r.fromAPI(ctx, o, record)
	case SourceEvent:
		return record, r.fromEvent(record)
	default:
		return r.fromTrailers(o, record)
	}
}

func (r *Reviewer) fromAPI(ctx context.Context, o Origin, record *Record) (*Record, error) {
	m, err := r.find(ctx, o.Commit)
	if err != nil {
		return nil, err
	}
	if m == nil {
		if r.config.asks() {
			return nil, refuse(o.Files, ReasonNoPullRequest,
				fmt.Sprintf("commit %s, which added it, does not belong to a pull request that was merged into %s",
					o.Commit, r.config.Branch),
				"a direct push has no review; right after a merge, GitHub may need a moment: then run it again")
		}
		return record, nil
	}
	record.merged(m)
	verdict, err := r.approvals(ctx, m, o.Files)
	if err != nil {
		return nil, err
	}
	record.Approvers = verdict.approvers
	if missing := r.config.RequireApprovals - len(verdict.approvers); missing > 0 {
		return nil, refuse(o.Files, ReasonNotApproved, fmt.Sprintf("%d of %d required approvals in %s",
			len(verdict.approvers), r.config.RequireApprovals, m.URL), verdict.hint())
	}
	return record, nil
}

// fromEvent adds the data of the event to the record, if the event is the merge of the record's
// commit. Pending files of an earlier merge are not in the event.
func (r *Reviewer) fromEvent(record *Record) error {
	m := r.config.Event
	if m == nil || m.Merge != record.Commit || m.Base != record.Branch {
		return nil
	}
	if err := checkAuthor(m); err != nil {
		return err
	}
	record.merged(m)
	return nil
}

func (r *Record) merged(m *forge.PullRequest) {
	r.Number, r.PullRequest, r.Requester = m.Number, m.URL, m.Author.Login
}

// refuse makes a refusal for every file.
func refuse(files []File, reason, message, hint string) exception.Refusals {
	var refusals exception.Refusals
	for _, f := range files {
		refusals = append(refusals, &exception.Refusal{Position: exception.Position{File: f.Path}, Reason: reason,
			Message: message, Hint: hint})
	}
	return refusals
}

// unanswered explains a failed request to the API.
func unanswered(what string, err error) error {
	unknown := &UnknownError{What: what, Err: err, Advice: "nothing was signed; correct the cause and run it again"}
	var hinter interface{ Hint() string }
	if errors.As(err, &hinter) {
		unknown.Advice = hinter.Hint()
	}
	return unknown
}
