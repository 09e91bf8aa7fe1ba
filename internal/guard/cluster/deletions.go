package cluster

import (
	"time"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Deleted is told of an object that was deleted, as the watch tells it. A review of a
// deletion says only that somebody reached the guard.
type Deleted func(id exception.Identity, version string, state guard.State)

// maxLately is how many deletions are remembered by a guard that does not hold the lease,
// for the time in which nobody does.
const maxLately = 256

type deletion struct {
	id      exception.Identity
	version string
	state   guard.State
	at      time.Time
}

// wentAway takes up that an object is gone, and returns what is to be told of that; it
// needs the lock.
func (s *Store) wentAway(id exception.Identity, version string, state guard.State) (tell func()) {
	if s.ours[state.UID] {
		delete(s.ours, state.UID)
		return func() {}
	}
	if deleted := s.deleted; deleted != nil {
		return func() { deleted(id, version, state) }
	}
	if len(s.lately) >= maxLately {
		s.lately = s.lately[1:]
	}
	s.lately = append(s.lately, deletion{id, version, state, time.Now()})
	return func() {}
}
