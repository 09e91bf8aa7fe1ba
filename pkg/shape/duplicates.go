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
	first map[exception.Identity]exception.Position
}

// Add puts a document into the set and returns a finding when its identity is
// there already.
func (s *Set) Add(d *exception.Document) []Finding {
	id := d.Identity()
	if s.first == nil {
		s.first = map[exception.Identity]exception.Position{}
	}
	first, there := s.first[id]
	if !there {
		s.first[id] = d.Position()
		return nil
	}
	path := exception.Path{"metadata", "name"}
	return []Finding{{
		Reason: ReasonDuplicateIdentity, Path: path, Position: d.PositionOf(path),
		Message: fmt.Sprintf("%q is already written at %s", id.String(), first),
		Hint:    "keep one of the two",
	}}
}
