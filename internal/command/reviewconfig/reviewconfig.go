// Package reviewconfig configures the review records of polex-sign from the section promote and
// from the environment of the workflow. The environment only selects the source of a record. It can
// never reduce the required approvals.
package reviewconfig

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/internal/forge"
	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/retry"
	"github.com/polex-dev/polex/internal/review"
	"github.com/polex-dev/polex/internal/review/record"
	"github.com/polex-dev/polex/pkg/exception"
)

const section = "promote"

// Options are the inputs for a [record.Recorder].
type Options struct {
	Config   *config.Config
	Workflow forge.Workflow
	Timing   retry.Timing
	// Repository is the clone. Branch is the target branch; "" means that of the workflow.
	Repository *git.Repository
	Branch     string
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
		Source: source, Branch: cmp.Or(o.Branch, o.Workflow.Branch()), History: o.Repository,
		RequireApprovals: p.RequireApprovals,
		Renewals: review.Renewals{RequireApprovals: renewals.Approvals,
			RequireNewApprover: renewals.NewApprover},
		InsecureAllowStaleApprovals: p.AllowStaleApprovals,
		InsecureCountTrailers:       p.ApprovalsFrom == string(review.SourceTrailers),
	}
	if c.Branch == "" {
		return nil, cli.Hint(errors.New("the target branch is not known, so its merged pull requests are not known "+
			"either"), "check out a branch, or set GITHUB_REF")
	}
	var payload []byte
	if source == review.SourceEvent {
		path, err := o.Workflow.EventFile()
		if err == nil {
			payload, err = cli.ReadFileUpTo(path, forge.MaxEvent)
		}
		if err != nil {
			return nil, fmt.Errorf("read the workflow's event: %w", err)
		}
	}
	var reviewer *review.Reviewer
	if err = o.ask(&c, payload); err == nil {
		reviewer, err = review.New(c)
	}
	if err != nil {
		return nil, &cli.UsageError{Err: fmt.Errorf("section %s: %w", section, err),
			Hint: "docs/explanation/approvals.md lists the valid combinations"}
	}
	recorder := &record.Recorder{Reviewer: reviewer}
	if renewals.NewApprover {
		recorder.Verify = o.Verify
	}
	return recorder, nil
}

// ask sets what the source of the records says.
func (o *Options) ask(c *review.Config, event []byte) (err error) {
	switch c.Source {
	case review.SourceAPI:
		c.Reviews, err = o.Workflow.Open("", o.Timing)
	case review.SourceEvent:
		c.Event, err = o.Workflow.Event(event)
	}
	return err
}

// source returns the source of the records, or "".
func (o *Options) source(r config.Review, asked bool) (review.Source, error) {
	source := review.Source(r.Record)
	switch r.Record {
	case "", config.RecordAuto:
		return o.shown(asked)
	case config.RecordNone:
		if asked {
			return "", cli.Usagef("%s.record is none, and approvals are required", section)
		}
		return "", nil
	case string(review.SourceAPI):
		if err := o.Workflow.Complete(); err != nil {
			return "", fmt.Errorf("records are made from the api: %w", err)
		}
	}
	return source, nil
}

// shown returns the best source that the environment allows.
func (o *Options) shown(asked bool) (review.Source, error) {
	const none = "approvals are required, and no source of approvals is available here"
	incomplete := o.Workflow.Complete()
	_, noEvent := o.Workflow.EventFile()
	switch running := o.Workflow.Running(); {
	case running && incomplete == nil:
		return review.SourceAPI, nil
	case asked && incomplete != nil:
		return "", fmt.Errorf(none+": %w", incomplete)
	case asked:
		return "", cli.Hint(errors.New(none), "promote.record: api uses the token of the environment; "+
			"docs/explanation/approvals.md lists the sources")
	case running && noEvent == nil:
		return review.SourceEvent, nil
	}
	return "", nil
}
