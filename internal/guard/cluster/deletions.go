package cluster

import (
	"time"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Deleted receives an object that was deleted, as the watch reports it. A review of a deletion
// proves only that somebody reached the guard.
type Deleted func(id exception.Identity, version string, state guard.State)

// maxLately is the number of deletions that a guard without the lease remembers. When it gets the
// lease, it reports the last ones, because perhaps no guard held the lease then.
const maxLately = 256

type deletion struct {
	id      exception.Identity
	version string
	state   guard.State
	at      time.Time
}

// wentAway records that an object is gone, and returns the function that reports it. The caller
// holds the lock.
func (s *Store) wentAway(id exception.Identity, version string, state guard.State) (tell func()) {
	if s.ours[state.UID] > 0 {
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
