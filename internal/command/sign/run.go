package sign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/shapeconfig"
	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/sign"
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
		to := r.streams.Out
		if r.options.output == "" { // the place of the signed documents
			to = r.streams.Err
		}
		return cli.Finish(r.format, to, r.report)
	}
	if r.options.bundle != "" {
		s, err := seal.Read(signed[0])
		if err != nil {
			return fmt.Errorf("write bundle: %w", err)
		}
		// The bundle comes before the document, because it has no effect alone.
		if err := cli.WriteFile(r.options.bundle, append(s.Signatures[0].BundleV03, '\n')); err != nil {
			return err
		}
	}
	return r.write(signed)
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

var _ promotion.Signer = (*batches)(nil)

// batches signs all batches of a run with one certificate. A document that the trust policy would not
// accept is a refusal.
type batches struct {
	*run
	// permitted, if not nil, returns an error if the target branch would reject the commit.
	permitted func(context.Context) error

	signer       *sign.Signer
	total, ended int // documents
}

// Ready implements [promotion.Signer].
func (b *batches) Ready(ctx context.Context, prepared []*exception.Document) ([]*exception.Document, error) {
	if b.permitted != nil {
		if err := b.permitted(ctx); err != nil {
			return nil, fmt.Errorf("nothing was signed: %w", err)
		}
	}
	b.bar.Stop() // the signer may ask a question
	progress := func(done, _ int) { b.bar.Tell("signing", b.ended+done, b.total) }
	var err error
	if b.signer, err = b.newSigner(ctx, progress); err != nil {
		return nil, err
	}
	b.bar = cli.StartProgress(b.streams.Err, "signing")
	b.total = len(prepared)
	ready, err := b.signer.Ready(prepared, b.now)
	return ready, refusedByPolicy(err)
}

// Sign implements [promotion.Signer].
func (b *batches) Sign(ctx context.Context, ready []*exception.Document) ([]*exception.Document, error) {
	signed, err := b.signer.Sign(ctx, ready, b.now)
	b.ended += len(signed)
	return signed, refusedByPolicy(err)
}

// refusedByPolicy converts the error of a signature that the trust policy does not accept to a refusal,
// and adds a hint to others.
func refusedByPolicy(err error) error {
	var unverified *sign.UnverifiedError
	var rejected *verify.Rejected
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unverified) && errors.As(err, &rejected) && rejected.IsPolicy():
		hint := "nothing was written; sign with an identity that the trust policy names, or change the policy"
		if rejected.Reason == verify.ReasonBeyondLimits {
			hint = "nothing was written; keep to the limits of this signer in the trust policy, " +
				"or sign with another identity"
		}
		return exception.Refusals{{Position: unverified.Position, Reason: rejected.Reason,
			Message: "the trust policy would not accept it: " + rejected.Detail, Hint: hint}}
	}
	return undone(err)
}

// write writes the signed documents as one stream.
func (r *run) write(signed []*exception.Document) error {
	for _, doc := range signed {
		if doc.JSON() != signed[0].JSON() {
			return cli.Usagef("YAML and JSON cannot be written as one stream: sign them one by one")
		}
	}
	content, err := exception.Join(signed)
	if err != nil {
		return err
	}
	if r.options.output == "" {
		if _, err := r.streams.Out.Write(content); err != nil {
			return err
		}
	} else if err := cli.WriteFile(r.options.output, content); err != nil {
		return err
	}
	for _, doc := range signed {
		if warning, found := shapeconfig.ClientSideApply(doc); found {
			_, _ = fmt.Fprintf(r.streams.Err, "polex-sign: warning: %s: %s\npolex-sign: hint: %s\n", doc.Identity(),
				warning.Message, warning.Hint)
		}
	}
	noun := "documents"
	if len(signed) == 1 {
		noun = "document"
	}
	_, err = fmt.Fprintf(r.streams.Err, "%d %s: %d signed\n", len(signed), noun, len(signed))
	return err
}

// checkOutput rejects an existing file of --output-file, unless it holds nothing else than earlier signed
// forms of the documents. Another file may be the only copy of something.
func (o *options) checkOutput(docs []*exception.Document) error {
	info, err := os.Stat(o.output)
	if o.output == "" || err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil //nolint:nilerr // writing reports it
	}
	f, err := os.Open(o.output)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	for old, err := range exception.NewReader(f, o.output).All() {
		if err == nil {
			_, err = seal.Read(old)
		}
		same := func(doc *exception.Document) bool { return doc.Identity() == old.Identity() }
		if err != nil || !slices.ContainsFunc(docs, same) {
			return &cli.UsageError{Err: fmt.Errorf(
				"--output-file %s exists, and is not an earlier signed form of the input", o.output),
				Hint: "name another file, or remove this one"}
		}
	}
	return nil
}
