package review

import (
	"fmt"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// Source is where a record comes from.
type Source string

// The sources. The API's is the only one that shows who approved; trailers say
// what whoever wrote the commit wanted them to say.
const (
	SourceAPI      Source = "api"
	SourceEvent    Source = "event"
	SourceTrailers Source = "trailers"
)

// Record is how a commit came to the branch. What is not known is empty.
type Record struct {
	Source Source
	// Commit is the hash of the commit on the branch, Branch the branch's name
	// without refs/heads/.
	Commit, Branch string
	// PullRequest is its address, or its reference where there is no address
	// (group/project!12); Number is 0 when there is none.
	PullRequest string
	Number      int
	// Requester and Approvers are logins, Approvers in order and without those
	// whose approval does not count. From trailers they are "Name <address>".
	Requester string
	Approvers []string
}

// Additions returns what the record adds to a document of a kind: annotations,
// and the native field where the kind has one.
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

// Write returns the document with the record in it; comments and the order of
// keys stay as they were. A document that claims a record of its own is an
// [*exception.Refusal], and so is one that the record cannot be written into.
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

// RecordIn returns a refusal for every part of a record that a request has already: its
// author must not write who approved it. An empty value is one, too.
func RecordIn(doc *exception.Document) exception.Refusals {
	var refusals exception.Refusals
	for _, path := range exception.RecordPaths(doc.GroupKind()) {
		if _, there := doc.Lookup(path...); there {
			refusals = append(refusals, &exception.Refusal{Position: doc.PositionOf(path), Reason: ReasonClaimsReview,
				Message: fmt.Sprintf("a request must not state %s", path), Hint: "remove it: polex records it when it signs the exception"})
		}
	}
	return refusals
}
