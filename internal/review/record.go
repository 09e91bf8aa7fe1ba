package review

import (
	"fmt"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// Source is the source of a record.
type Source string

// The sources. Only the API proves approvals. The author of a commit can write any trailer.
const (
	SourceAPI      Source = "api"
	SourceEvent    Source = "event"
	SourceTrailers Source = "trailers"
)

// Record is the review of a commit on the branch. Unknown fields are empty.
type Record struct {
	Source Source
	// Commit is the hash of the commit. Branch is the name of the branch without refs/heads/.
	Commit, Branch string
	// PullRequest is the address of the pull request, or a reference without an address
	// (group/project!12). Number is 0 if there is none.
	PullRequest string
	Number      int
	// Requester and Approvers are logins; from trailers, Approvers are "Name <address>". Approvers
	// are sorted, and contain only approvals that count.
	Requester string
	Approvers []string
}

// Additions returns the fields that the record adds to a document of a kind: annotations, and the
// field for approvers if the kind has one.
func (r *Record) Additions(kind exception.GroupKind) []exception.Addition {
	var additions []exception.Addition
	approved, _ := exception.StatementPath(kind, exception.AnnotationApprovedBy)
	for _, a := range []exception.Addition{
		{Path: annotation(exception.AnnotationRequestedBy), Value: r.Requester},
		{Path: approved, Value: strings.Join(r.Approvers, ", ")},
		{Path: annotation(exception.AnnotationPullRequest), Value: r.PullRequest},
		{Path: annotation(exception.AnnotationMergeCommit), Value: r.Commit},
		{Path: annotation(exception.AnnotationRecordedFrom), Value: string(r.Source)},
	} {
		if a.Value != "" {
			additions = append(additions, a)
		}
	}
	return additions
}

func annotation(key string) exception.Path { return exception.Path{"metadata", "annotations", key} }

// Write returns the document with the record in it. It keeps comments and the order of keys. It
// returns an [*exception.Refusal] if the document has record fields of its own, or cannot be
// written to.
func (r *Record) Write(doc *exception.Document) (*exception.Document, error) {
	if own := RecordIn(doc); len(own) > 0 {
		return nil, own[0]
	}
	out, err := doc.Add(r.Additions(doc.GroupKind())...)
	if err != nil {
		return nil, &exception.Refusal{Position: doc.Position(), Reason: ReasonUnrecordable,
			Message: fmt.Sprintf("its approvers cannot be written into it: %s", err)}
	}
	return out, nil
}

// RecordIn returns a refusal for every record field in a request, even if it is empty. The author
// of a request must not write its approvers.
func RecordIn(doc *exception.Document) exception.Refusals {
	var refusals exception.Refusals
	for _, path := range exception.RecordPaths(doc.GroupKind()) {
		if _, there := doc.Lookup(path...); there {
			refusals = append(refusals, &exception.Refusal{Position: doc.PositionOf(path), Reason: ReasonClaimsReview,
				Message: fmt.Sprintf("a request must not state %s", path),
				Hint:    "remove it: polex records it when it signs the exception"})
		}
	}
	return refusals
}
