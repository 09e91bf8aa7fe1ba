// Package reviewconfig configures the review records of polex-sign from the section promote and
// from the environment of the workflow. The environment only selects the source of a record. It can
// never reduce the required approvals.
package reviewconfig

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/github"
	"github.com/polex-dev/polex/internal/retry"
	"github.com/polex-dev/polex/internal/review"
	"github.com/polex-dev/polex/internal/review/record"
	"github.com/polex-dev/polex/pkg/exception"
)

const section = "promote"

// Options are the inputs for a [record.Recorder].
type Options struct {
	Config *config.Config
	// Getenv reads the environment of the workflow: GITHUB_ACTIONS, GITHUB_API_URL,
	// GITHUB_EVENT_PATH, GITHUB_REF, GITHUB_REPOSITORY, GITHUB_SERVER_URL and GITHUB_TOKEN.
	Getenv func(string) string
	Client *http.Client
	Timing retry.Timing
	// Repository is the clone. Source is the commit with the files to sign. Branch is its branch;
	// "" means GITHUB_REF.
	Repository     *git.Repository
	Source, Branch string
	// Verify verifies the predecessor of a renewal with pkg/verify, and returns its signed message.
	// It is nil if no trusted signer is configured.
	Verify func(*exception.Document) (*exception.Document, error)
}

// New returns the recorder, or nil if no records are made. An invalid configuration is a
// [cli.UsageError]. If the environment lacks the data for required approvals, New returns another
// error.
func New(o Options) (*record.Recorder, error) {
	p := o.Config.Promote
	_, trusted, err := o.Config.Trust()
	if err != nil {
		return nil, cli.InConfig(err)
	}
	renewals := trusted.Renewals
	if renewals.NewApprover && o.Verify == nil {
		return nil, &cli.UsageError{Err: errors.New(
			"trust.renewals.requireNewApprover: the approvers of the renewed exception are read from its signed " +
				"file, and there is no trusted signer"),
			Hint: "name the signer in the section trust of the configuration"}
	}
	source, err := o.source(p.Review, p.RequireApprovals > 0 || renewals.Review())
	if err != nil || source == "" {
		return nil, err
	}
	c := review.Config{
		Source: source, Branch: o.branch(), History: record.History(o.Repository),
		RequireApprovals: p.RequireApprovals,
		Renewals: review.Renewals{RequireApprovals: renewals.Approvals,
			RequireNewApprover: renewals.NewApprover},
		InsecureAllowStaleApprovals: p.AllowStaleApprovals,
		InsecureCountTrailers:       p.ApprovalsFrom == string(review.SourceTrailers),
		GitHub:                      github.Workflow(o.Getenv, o.Client),
	}
	if c.Branch == "" {
		return nil, cli.Hint(errors.New("the target branch is not known, so its merged pull requests are not known "+
			"either"), "check out a branch, or set GITHUB_REF")
	}
	if source == review.SourceEvent {
		if c.Event, err = cli.ReadFileUpTo(o.Getenv("GITHUB_EVENT_PATH"), review.MaxEvent); err != nil {
			return nil, fmt.Errorf("read the workflow's event: %w", err)
		}
	}
	c.GitHub.Timing = o.Timing
	reviewer, err := review.New(c)
	if err != nil {
		return nil, &cli.UsageError{Err: fmt.Errorf("section %s: %w", section, err),
			Hint: "docs/explanation/approvals.md lists the valid combinations"}
	}
	recorder := &record.Recorder{Reviewer: reviewer, Repository: o.Repository, Source: o.Source}
	if renewals.NewApprover {
		recorder.Verify = o.Verify
	}
	return recorder, nil
}

// source returns the source of the records, or "".
func (o *Options) source(r config.Review, asked bool) (review.Source, error) {
	switch r.Record {
	case "", config.RecordAuto:
		return o.shown(asked)
	case config.RecordNone:
		if asked {
			return "", cli.Usagef("%s.record is none, and approvals are required", section)
		}
		return "", nil
	default:
		return review.Source(r.Record), o.complete(review.Source(r.Record))
	}
}

// shown returns the best source that the environment allows.
func (o *Options) shown(asked bool) (review.Source, error) {
	switch {
	case o.Getenv("GITHUB_ACTIONS") == "true" && o.Getenv("GITHUB_TOKEN") != "":
		return review.SourceAPI, o.complete(review.SourceAPI)
	case asked:
		return "", cli.Hint(errors.New("approvals are required, and no source of approvals is available here"),
			"in GitHub Actions, give the step env: GITHUB_TOKEN: ${{ github.token }} and the job pull-requests: "+
				"read; elsewhere see docs/explanation/approvals.md")
	case o.Getenv("GITHUB_ACTIONS") == "true" && o.Getenv("GITHUB_EVENT_PATH") != "":
		return review.SourceEvent, o.complete(review.SourceEvent)
	default:
		return "", nil
	}
}

// complete returns an error if a source needs a missing environment variable.
func (o *Options) complete(source review.Source) error {
	needed := map[review.Source][]string{
		review.SourceAPI:   {"GITHUB_TOKEN", "GITHUB_REPOSITORY"},
		review.SourceEvent: {"GITHUB_EVENT_PATH", "GITHUB_REPOSITORY"},
	}
	for _, name := range needed[source] {
		if o.Getenv(name) == "" {
			return cli.Hint(fmt.Errorf("records are made from the %s, and %s is not set", source, name),
				"docs/explanation/approvals.md says where each comes from")
		}
	}
	return nil
}

func (o *Options) branch() string {
	if o.Branch != "" {
		return o.Branch
	}
	branch, found := strings.CutPrefix(o.Getenv("GITHUB_REF"), "refs/heads/")
	if !found {
		return ""
	}
	return branch
}
