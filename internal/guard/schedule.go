package guard

import (
	"container/heap"
	"time"
)

// stored is what the controller knows of a stored object, and when it has to act on it.
// There is one for each object, and another finding is written over the one before: what
// lives for long then stays together, and what was allocated around it can be given back.
type stored struct {
	finding  Finding
	due      appointment // when something has to be done
	end      appointment // of an exception, whatever became of deleting it
	failures int         // in a row, to read or to delete it
}

// appointment is a time at which an object is in a schedule.
type appointment struct {
	of    *stored
	at    time.Time
	place int // in the schedule, from 1; 0 is not in it
}

// schedule knows when each object's time comes. It holds times of the wall, which
// may jump: whoever waits for one asks again and again.
type schedule []*appointment

// set puts an object at a time, wherever it was; the zero time takes it out.
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

// next returns what is nearest, or nil when there is nothing.
func (s schedule) next() *appointment {
	if len(s) == 0 {
		return nil
	}
	return s[0]
}

// Len, Less, Swap, Push and Pop are for container/heap.
func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].at.Before(s[j].at) }

// Swap keeps the places.
func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].place, s[j].place = i+1, j+1
}

// Push appends an appointment.
func (s *schedule) Push(x any) {
	*s = append(*s, x.(*appointment))
	(*s)[len(*s)-1].place = len(*s)
}

// Pop takes the last one off.
func (s *schedule) Pop() any {
	last := len(*s) - 1
	a := (*s)[last]
	(*s)[last] = nil
	a.place, *s = 0, (*s)[:last]
	return a
}
