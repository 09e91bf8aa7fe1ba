package record

import (
	"context"
	"errors"
	"fmt"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/review"
	"github.com/polex-dev/polex/pkg/exception"
)

// File is a file to sign.
type File struct {
	Path string
	// Origin is the hash of the commit that last changed the file, or "" if the known history does
	// not contain it.
	Origin    string
	Documents []*exception.Document
	// Prepared has the form of each document to write the record into, without one that of Documents.
	Prepared []*exception.Document
	// Predecessors has an element for each document: the exception in the signed folder that it
	// renews or replaces, or nil for a first exception. An empty list means that there are none.
	Predecessors []*exception.Document
}

func (f File) unrecorded() []*exception.Document {
	if f.Prepared != nil {
		return f.Prepared
	}
	return f.Documents
}

// Recorder writes review records into documents.
type Recorder struct {
	Reviewer   *review.Reviewer
	Repository *git.Repository
	Source     string // the hash of the commit with the files to sign
	// Verify verifies the predecessor of a renewal and returns its signed message. If Verify is
	// nil, predecessors are not checked.
	Verify func(*exception.Document) (*exception.Document, error)
}

// Record returns the documents of all files in their order, each with its record. It returns
// [exception.Refusals] if a document lacks a required approval, and another error if that cannot be
// determined. It looks up each commit once.
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
		for _, doc := range f.unrecorded() {
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

// origins groups the files by origin commit, and returns these commits in order.
func (r *Recorder) origins(files []File) (map[string]*review.Origin, []string, error) {
	origins := map[string]*review.Origin{}
	var order []string
	for _, f := range files {
		if f.Origin == "" {
			return nil, nil, &review.UnknownError{What: fmt.Sprintf("find the commit that added %q", f.Path),
				Err:    errors.New("the history does not go back to it"),
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
		o.Files = append(o.Files, review.File{Path: f.Path, Blob: git.HashOf(git.KindBlob, content).String()})
	}
	return origins, order, nil
}
