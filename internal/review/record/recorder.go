package record

import (
	"context"
	"errors"
	"fmt"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/internal/review"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// Recorder writes review records into documents.
type Recorder struct {
	Reviewer *review.Reviewer
	// Verify verifies the predecessor of a renewal and returns its signed message. If Verify is
	// nil, predecessors are not checked.
	Verify func(*exception.Document) (*exception.Document, error)
}

// Record returns the prepared documents of all files in their order, each with its record. It returns
// [exception.Refusals] if a document lacks a required approval, and another error if that cannot be
// determined. It looks up each commit once.
func (r *Recorder) Record(ctx context.Context, files []*promotion.Move) ([]*exception.Document, error) {
	origins, order, err := r.origins(files)
	if err != nil {
		return nil, err
	}
	var refusals exception.Refusals
	for _, f := range files {
		for _, doc := range f.Documents {
			refusals = append(refusals, review.RecordIn(doc)...)
		}
	}
	records := map[git.Hash]*review.Record{}
	for _, commit := range order {
		record, err := r.Reviewer.Record(ctx, *origins[commit])
		refused := exception.RefusalsIn(err)
		switch {
		case refused != nil:
			refusals = append(refusals, refused...)
		case err != nil:
			return nil, err
		}
		records[commit] = record
	}
	if len(refusals) == 0 {
		refusals, err = r.renewals(files, records)
	}
	var documents []*exception.Document
	if err == nil && len(refusals) == 0 {
		documents, refusals, err = written(files, records)
	}
	if err == nil && len(refusals) > 0 {
		err = refusals
	}
	if err != nil {
		return nil, err
	}
	return documents, nil
}

// written returns the documents with their records.
func written(files []*promotion.Move,
	records map[git.Hash]*review.Record) (documents []*exception.Document, refusals exception.Refusals, err error) {
	for _, f := range files {
		for _, doc := range f.Prepared {
			out, err := records[f.Origin.Commit].Write(doc)
			var refused *exception.Refusal
			switch {
			case errors.As(err, &refused):
				refusals = append(refusals, refused)
			case err != nil:
				return nil, nil, err
			}
			documents = append(documents, out)
		}
	}
	return documents, refusals, nil
}

// origins groups the files by origin commit, and returns these commits in order.
func (r *Recorder) origins(files []*promotion.Move) (map[git.Hash]*review.Origin, []git.Hash, error) {
	origins := map[git.Hash]*review.Origin{}
	var order []git.Hash
	for _, f := range files {
		if f.Origin == nil {
			return nil, nil, &review.UnknownError{What: fmt.Sprintf("find the commit that added %q", f.From),
				Err:    errors.New("the history does not go back to it"),
				Advice: "in GitHub Actions, check it out with fetch-depth: 0"}
		}
		o := origins[f.Origin.Commit]
		if o == nil {
			o = &review.Origin{Commit: f.Origin.Commit.String()}
			origins[f.Origin.Commit] = o
			order = append(order, f.Origin.Commit)
		}
		o.Files = append(o.Files, review.File{Path: f.From, Blob: f.Blob.String()})
	}
	return origins, order, nil
}

// renewals checks the additional rules for the review of renewals.
func (r *Recorder) renewals(files []*promotion.Move, records map[git.Hash]*review.Record) (exception.Refusals, error) {
	var refusals exception.Refusals
	for _, f := range files {
		for i, signed := range f.Predecessors {
			if signed == nil {
				continue
			}
			before, err := r.predecessor(signed)
			if err != nil {
				return nil, fmt.Errorf("verify the predecessor of %s, %s: %w", f.Documents[i].Identity(),
					signed.Position(), err)
			}
			if refusal := r.Reviewer.Renewal(f.Documents[i], records[f.Origin.Commit], before); refusal != nil {
				refusals = append(refusals, refusal)
			}
		}
	}
	return refusals, nil
}

// predecessor verifies the renewed exception, if a Verify function is set.
func (r *Recorder) predecessor(signed *exception.Document) (review.Predecessor, error) {
	if r.Verify == nil {
		return review.Predecessor{}, nil
	}
	message, err := r.Verify(signed)
	var rejected *verify.Rejected
	switch {
	case errors.As(err, &rejected):
		return review.Predecessor{Unknown: fmt.Sprintf("%s does not verify: %s", signed.Position(), rejected)}, nil
	case err != nil:
		return review.Predecessor{}, err
	}
	return review.Predecessor{Signed: message}, nil
}
