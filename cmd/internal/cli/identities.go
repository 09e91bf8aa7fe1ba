package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/pkg/exception"
)

// ReasonDuplicateIdentity is given for the second of two documents that the API
// server would take for one object: which of them is applied is chance.
const ReasonDuplicateIdentity = "duplicate-identity"

// Identities remembers which objects a run has seen. Its zero value is empty.
type Identities struct {
	first map[exception.Identity]exception.Position
}

// Duplicate returns the result for a document whose object was seen before, or
// nil when it was not.
func (ids *Identities) Duplicate(doc *exception.Document) *Result {
	id := doc.Identity()
	if at, seen := ids.first[id]; seen {
		r := ResultFor(doc)
		r.Outcome, r.Reason = Refuse, ReasonDuplicateIdentity
		r.Message = fmt.Sprintf("%s is already at %s", id, at)
		r.Hint = "only one of the two can be applied: keep the one that was approved"
		return &r
	}
	if ids.first == nil {
		ids.first = map[exception.Identity]exception.Position{}
	}
	ids.first[id] = doc.Position()
	return nil
}

// ResultFor begins a result about a whole document.
func ResultFor(doc *exception.Document) Result {
	at := doc.Position()
	return Result{File: at.File, Line: at.Line, Column: at.Column, Object: doc.Identity().String()}
}

// AtLeastOnePath is the argument check of a command that reads documents.
func AtLeastOnePath(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return &UsageError{Err: errors.New("no path is given"), Hint: fmt.Sprintf("name files or folders, or - for standard input; %s --help says more", cmd.CommandPath())}
	}
	return nil
}
