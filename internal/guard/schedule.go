package guard

import (
	"container/heap"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// schedule knows when each object's time comes. It holds times of the wall, which
// may jump: whoever waits for one asks again and again.
type schedule struct {
	entries []*entry
	of      map[exception.Identity]*entry
}

type entry struct {
	id    exception.Identity
	at    time.Time
	index int
}

// set puts an object at a time, wherever it was; the zero time takes it out.
func (s *schedule) set(id exception.Identity, at time.Time) {
	e := s.of[id]
	switch {
	case at.IsZero() && e != nil:
		heap.Remove(s, e.index)
	case at.IsZero():
	case e == nil:
		heap.Push(s, &entry{id: id, at: at})
	default:
		e.at = at
		heap.Fix(s, e.index)
	}
}

// next returns the nearest time, or false when there is none.
func (s *schedule) next() (exception.Identity, time.Time, bool) {
	if len(s.entries) == 0 {
		return exception.Identity{}, time.Time{}, false
	}
	return s.entries[0].id, s.entries[0].at, true
}

// Len, Less, Swap, Push and Pop are for container/heap.
func (s *schedule) Len() int           { return len(s.entries) }
func (s *schedule) Less(i, j int) bool { return s.entries[i].at.Before(s.entries[j].at) }

// Swap keeps the places of the entries.
func (s *schedule) Swap(i, j int) {
	s.entries[i], s.entries[j] = s.entries[j], s.entries[i]
	s.entries[i].index, s.entries[j].index = i, j
}

// Push appends an entry.
func (s *schedule) Push(x any) {
	e := x.(*entry)
	e.index = len(s.entries)
	if s.of == nil {
		s.of = map[exception.Identity]*entry{}
	}
	s.entries, s.of[e.id] = append(s.entries, e), e
}

// Pop takes the last entry off.
func (s *schedule) Pop() any {
	e := s.entries[len(s.entries)-1]
	s.entries = s.entries[:len(s.entries)-1]
	delete(s.of, e.id)
	return e
}
