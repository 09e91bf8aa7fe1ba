package sign

import (
	"context"
	"io"
	"time"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/shapeconfig"
	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

// run is one run of the command.
type run struct {
	options *options
	streams cli.Streams
	config  *config.Config
	root    *trust.Root
	// policy and verifier are nil if no trusted signer is configured.
	policy   *trust.Policy
	verifier *verify.Verifier
	checks   promotion.Checks
	kinds    []string // of the trust policy, in its notation
	format   *cli.Format
	report   *cli.Report
	now      time.Time
	bar      *cli.Progress // nil while nothing is shown
}

// files signs the documents in the paths.
func (r *run) files(ctx context.Context, paths []string) error {
	var docs []*exception.Document
	cli.Inputs{Paths: paths, Stdin: r.streams.In, Report: r.report}.Each(func(doc *exception.Document) {
		docs = append(docs, doc)
	})
	if r.options.bundle != "" && len(docs) > 1 {
		return cli.Usagef("--bundle requires one document, and there are %d", len(docs))
	}
	if err := r.options.checkOutput(docs); err != nil {
		return err
	}
	found, prepared, err := r.checks.Check(docs, r.now)
	if err != nil {
		return err
	}
	r.found(found)
	var signed []*exception.Document
	if r.report.Err() == nil {
		signed, err = r.sign(ctx, prepared)
		if refused := exception.RefusalsIn(err); refused != nil {
			r.found(promotion.Refused(refused))
		} else if err != nil {
			return err
		}
	}
	if r.report.Err() != nil {
		return cli.Finish(r.format, r.refusedTo(), r.report)
	}
	if r.options.bundle != "" {
		if err := r.writeBundle(signed[0]); err != nil {
			return err
		}
	}
	return r.write(signed)
}

// refusedTo returns the stream for rejections: standard error if signed documents go to standard
// output.
func (r *run) refusedTo() io.Writer {
	if r.options.output == "" {
		return r.streams.Err
	}
	return r.streams.Out
}

// sign signs prepared documents.
func (r *run) sign(ctx context.Context, prepared []*exception.Document) ([]*exception.Document, error) {
	b := batches{run: r}
	ready, err := b.Ready(ctx, prepared)
	if err != nil {
		return nil, err
	}
	defer func() { r.bar.Stop() }()
	return b.Sign(ctx, ready)
}

// found adds findings to the report.
func (r *run) found(found promotion.Findings) {
	for _, f := range found {
		r.report.Add(shapeconfig.Result(f.Document, f.Finding))
	}
}
