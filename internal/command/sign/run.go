package sign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/shapeconfig"
	"github.com/polex-dev/polex/internal/command/trustflags"
	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

// run is one run of the command.
type run struct {
	options *options
	streams cli.Streams
	config  *config.Config
	trusted *trustflags.Flags
	trust   trust.Config // what trusted and config add up to
	rules   sign.Rules
	checker *shape.Checker
	// overlaps is what exempting the same as a signed exception weighs.
	overlaps shape.Level
	format   *cli.Format
	report   *cli.Report
	now      time.Time
}

// files seals what the paths hold.
func (r *run) files(ctx context.Context, paths []string) error {
	var docs []*exception.Document
	cli.Inputs{Paths: paths, Stdin: r.streams.In, Report: r.report}.Each(func(doc *exception.Document) {
		docs = append(docs, doc)
	})
	if r.options.bundle != "" && len(docs) > 1 {
		return cli.Usagef("--bundle is about one document, and there are %d", len(docs))
	}
	sealed, err := r.seal(ctx, docs, nil, r.refusedTo())
	if err != nil {
		return err
	}
	if r.options.bundle != "" {
		if err := r.writeBundle(sealed[0]); err != nil {
			return err
		}
	}
	return r.write(sealed)
}

// refusedTo is where refusals go: standard output, unless that is where sealed
// documents would have gone.
func (r *run) refusedTo() io.Writer {
	if !r.options.promote && r.options.output == "" {
		return r.streams.Err
	}
	return r.streams.Out
}

// recording returns documents as they are to be signed, once they were checked.
type recording func() ([]*exception.Document, error)

// seal checks and signs a batch. When anything on the report refuses or cannot
// be decided, the report is written and nothing is signed. What is checked is what
// somebody wrote, so that messages name its lines; a record, where it is not nil,
// is of the same documents.
func (r *run) seal(ctx context.Context, docs []*exception.Document, record recording, refusedTo io.Writer) ([]*exception.Document, error) {
	err := r.pass(docs, refusedTo)
	if err == nil && record != nil {
		docs, err = record()
	}
	if err != nil {
		return nil, err
	}
	signer, err := r.signer(ctx)
	if err != nil {
		return nil, err
	}
	sealed, err := signer.Seal(ctx, docs, r.now)
	if refused := (exception.Refusals)(nil); errors.As(err, &refused) {
		r.refuse(refused)
		return nil, cli.Finish(r.format, refusedTo, r.report)
	}
	var unverified *sign.UnverifiedError
	var rejected *verify.Rejected
	if errors.As(err, &unverified) && errors.As(err, &rejected) && rejected.IsPolicy() {
		at := unverified.Position
		r.report.Add(cli.Result{Outcome: cli.Refuse, File: at.File, Line: at.Line, Column: at.Column, Reason: rejected.Reason,
			Message: "the trust policy would not accept it: " + rejected.Detail, Hint: "nothing was written; have it signed by whom the trust policy names, or change the policy"})
		return nil, cli.Finish(r.format, refusedTo, r.report)
	}
	if err != nil {
		return nil, undone(err)
	}
	return sealed, nil
}

// pass checks documents. What keeps one of them from being signed ends the run, with the
// report.
func (r *run) pass(docs []*exception.Document, refusedTo io.Writer) error {
	if err := r.check(docs); err != nil {
		return err
	}
	if r.report.Err() != nil {
		return cli.Finish(r.format, refusedTo, r.report)
	}
	return nil
}

// verifier verifies by the trust policy, or is nil where that names nobody: then nothing
// says whose signatures count.
func (r *run) verifier() (*verify.Verifier, error) {
	if len(r.trust.Authorities) == 0 {
		return nil, nil
	}
	return r.trusted.Verifier(r.config)
}

// check puts on the report everything that keeps a document from being signed:
// what its shape says, and what signing itself asks.
func (r *run) check(docs []*exception.Document) error {
	kinds, err := trust.NewKinds(r.trust.Kinds)
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	refused := false
	for _, doc := range docs {
		var results []cli.Result
		switch gk := doc.GroupKind(); {
		case !kinds.Allow(gk):
			result := cli.ResultFor(doc)
			result.Outcome, result.Reason = cli.Refuse, "kind-not-allowed"
			result.Message = fmt.Sprintf("a document of the kind %q is not signed here", gk)
			result.Hint = "name the kind with --kinds Kind.group if it is meant to be"
			results = append(results, result)
		case gk.IsException():
			results = shapeconfig.Results(doc, r.checker.Check(doc, r.now))
		}
		for _, result := range results {
			refused = refused || result.Outcome == cli.Refuse
		}
		r.report.Add(results...)
	}
	if refused {
		return nil // what signing asks would only say it twice
	}
	_, err = sign.Prepare(docs, r.now, r.rules)
	var problems exception.Refusals
	if errors.As(err, &problems) {
		r.refuse(problems)
		return nil
	}
	return err
}

func (r *run) refuse(refusals exception.Refusals) {
	for _, f := range refusals {
		r.report.Add(cli.ResultOf(f))
	}
}
