package guard

import (
	"container/heap"
	"time"
)

// stored is the state of the controller for one stored object. A new finding overwrites the
// previous one, so long-lived memory stays together and the rest can be freed.
type stored struct {
	finding  Finding
	due      appointment // the next action
	failures int         // consecutive failures to read or delete it
	// contested means that it changed during its deletion, and its new state has to be deleted too.
	contested bool
	updated   time.Time // when it last changed without a change of its content
	removing  bool      // its deletion has not ended
}

// appointment is an entry of a schedule.
type appointment struct {
	of    *stored
	at    time.Time
	place int // in the schedule, from 1; 0: not in it
}

// schedule orders objects by time. The times are wall times, and the clock may jump, so a caller
// that waits has to ask repeatedly.
type schedule []*appointment

// set moves or adds an object to a time; the zero time removes it.
func (s *schedule) set(a *appointment, at time.Time) {
	switch {
	case at.IsZero() && a.place > 0:
		heap.Remove(s, a.place-1)
	case at.IsZero():
	case a.place == 0:
		a.at = at
		heap.Push(s, a)
	default:
		a.at = at
		heap.Fix(s, a.place-1)
	}
}

// next returns the earliest entry, or nil.
func (s schedule) next() *appointment {
	if len(s) == 0 {
		return nil
	}
	return s[0]
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].at.Before(s[j].at) }

// Swap updates the places too.
func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].place, s[j].place = i+1, j+1
}

// Push appends an appointment.
func (s *schedule) Push(x any) {
	*s = append(*s, x.(*appointment))
	(*s)[len(*s)-1].place = len(*s)
}

// Pop removes the last appointment.
func (s *schedule) Pop() any {
	last := len(*s) - 1
	a := (*s)[last]
	(*s)[last] = nil
	a.place, *s = 0, (*s)[:last]
	return a
}
