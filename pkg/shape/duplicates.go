package shape

import (
	"fmt"

	"github.com/polex-dev/polex/pkg/exception"
)

// Set finds documents that are one object to the API server. The one that is
// applied last wins there, and which one that is depends on the tool: a second
// document can undo what was reviewed in the first. The zero value is empty and
// ready; it is not for several goroutines at once.
type Set struct {
	met exception.Identities
}

// Add puts a document into the set and returns a finding when its identity is
// there already.
func (s *Set) Add(d *exception.Document) []Finding {
	first, again := s.met.Add(d)
	if !again {
		return nil
	}
	path := exception.Path{"metadata", "name"}
	return []Finding{{
		Reason: ReasonDuplicateIdentity, Path: path, Position: d.PositionOf(path),
		Message: fmt.Sprintf("%q is already written at %s", d.Identity().String(), first),
		Hint:    "keep one of the two",
	}}
}
