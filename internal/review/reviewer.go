package review

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/polex-dev/polex/internal/github"
	"github.com/polex-dev/polex/internal/restapi"
	"github.com/polex-dev/polex/internal/retry"
	"github.com/polex-dev/polex/pkg/exception"
)

// Config sets the source of the records and the required approvals.
type Config struct {
	Source Source
	// GitHub is the API for SourceAPI. SourceEvent uses only its ServerURL and Repository.
	GitHub github.Config
	// Event is the payload of the workflow's event, for SourceEvent: a push, or a closed pull
	// request.
	Event []byte
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
	api    *github.Client // nil unless the source is the API
	server string
	event  *event
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
	var err error
	switch c.Source {
	case SourceAPI:
		r.api, err = github.New(c.GitHub)
	case SourceEvent:
		if c.asksApprovals() {
			return nil, errors.New("approvals are required, and an event has none: use the API (promote.record: api) " +
				"and a token for it")
		}
		r.event, err = readEvent(c.Event)
		if err == nil {
			r.server, err = restapi.CheckAddress(c.GitHub.ServerURL)
		}
		if err == nil {
			err = github.CheckRepository(c.GitHub.Repository)
		}
	case SourceTrailers:
		if c.asksApprovals() && !c.InsecureCountTrailers {
			return nil, errors.New("required approvals need promote.record: api, since any author can write names " +
				"into a commit message; promote.approvalsFrom: trailers counts them")
		}
	default:
		return nil, fmt.Errorf("there is no source %q of records, expected api, event or trailers", c.Source)
	}
	return r, err
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
	record.Number, record.PullRequest, record.Requester = m.Number, m.address, m.User.Login
	verdict, err := r.approvals(ctx, m, o.Files)
	if err != nil {
		return nil, err
	}
	record.Approvers = verdict.approvers
	if missing := r.config.RequireApprovals - len(verdict.approvers); missing > 0 {
		return nil, refuse(o.Files, ReasonNotApproved, fmt.Sprintf("%d of %d required approvals in %s",
			len(verdict.approvers), r.config.RequireApprovals, m.address), verdict.hint())
	}
	return record, nil
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
	var unknown *UnknownError
	if errors.As(err, &unknown) {
		return &UnknownError{What: what, Err: err, Advice: unknown.Advice}
	}
	advice := "nothing was signed; correct the cause and run it again"
	var answered *retry.StatusError
	switch {
	case !errors.As(err, &answered):
	case answered.Status == http.StatusUnauthorized:
		advice = "is the token one of this server, and still valid?"
	case answered.Status == http.StatusForbidden && strings.Contains(answered.Said, "rate limit"):
		advice = "the token has reached its rate limit: run it again later"
	case answered.Status == http.StatusUnprocessableEntity:
		advice = "is the commit pushed?"
	case answered.Status == http.StatusForbidden || answered.Status == http.StatusNotFound:
		advice = "the token needs the permissions pull-requests: read and contents: read; a person's token must also " +
			"be able to push"
	}
	return &UnknownError{What: what, Err: err, Advice: advice}
}
