package record

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/review"
	"github.com/polex-dev/polex/pkg/exception"
)

// File is one that is to be signed.
type File struct {
	Path string
	// Origin is the hash of the commit that gave it its content, or "" where the
	// history does not go back to it.
	Origin    string
	Documents []*exception.Document
	// Predecessors are what the documents renew or take the place of, one for each, as
	// they lie in the signed folder; nil for a first exception. None at all is none of
	// them.
	Predecessors []*exception.Document
}

// Recorder writes into documents how they came to be signed.
type Recorder struct {
	Reviewer   *review.Reviewer
	Repository *git.Repository
	Source     string // the hash of the commit whose files are signed
	// Verify verifies the predecessor of a renewal and returns what was signed of it. Nil is
	// that no predecessor is looked at.
	Verify func(*exception.Document) (*exception.Document, error)
}

// Record returns the documents of all files in their order, each with its record.
// It returns [exception.Refusals] when one of them lacks what is asked for, and
// another error when that cannot be known. Each commit is looked up once.
func (r *Recorder) Record(ctx context.Context, files []File) ([]*exception.Document, error) {
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
	records := map[string]*review.Record{}
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
	if len(refusals) > 0 {
		return nil, refusals
	}
	if refusals, err = r.renewals(files, records); err != nil {
		return nil, err
	}
	if len(refusals) > 0 {
		return nil, refusals
	}
	var documents []*exception.Document
	for _, f := range files {
		for _, doc := range f.Documents {
			out, err := records[f.Origin].Write(doc)
			var refused *exception.Refusal
			if errors.As(err, &refused) {
				refusals = append(refusals, refused)
				continue
			}
			if err != nil {
				return nil, err
			}
			documents = append(documents, out)
		}
	}
	if len(refusals) > 0 {
		return nil, refusals
	}
	return documents, nil
}

// origins returns the files by the commits that brought them, and those in order.
func (r *Recorder) origins(files []File) (map[string]*review.Origin, []string, error) {
	origins := map[string]*review.Origin{}
	var order []string
	for _, f := range files {
		if f.Origin == "" {
			return nil, nil, &review.UnknownError{What: fmt.Sprintf("find the commit that brought %q", f.Path), Err: errors.New("the history does not go back to it"),
				Advice: "in GitHub Actions, check it out with fetch-depth: 0"}
		}
		content, err := History(r.Repository).ReadFile(r.Source, f.Path)
		if err != nil {
			return nil, nil, err
		}
		o := origins[f.Origin]
		if o == nil {
			o = &review.Origin{Commit: f.Origin}
			origins[f.Origin] = o
			order = append(order, f.Origin)
		}
		o.Files = append(o.Files, review.File{Path: f.Path, Blob: plumbing.ComputeHash(plumbing.BlobObject, content).String()})
	}
	return origins, order, nil
}
