package guard

import (
	"container/list"
	"sync"
)

// readers bounds how many bodies are read at once. A body of the API server is here
// within milliseconds, and a slow one is not: where there are too many, the one that
// has been read for longest gives way to the new one.
type readers struct {
	mu     sync.Mutex
	most   int
	oldest list.List // of func() error, each of which ends the reading of one body
}

// begin makes room for a body. stop ends the reading of it from another goroutine, and
// is not called any more once end has returned. There is no room when the oldest body
// cannot be stopped.
func (r *readers) begin(stop func() error) (end func(), ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.oldest.Len() >= r.most {
		first := r.oldest.Front()
		if first.Value.(func() error)() != nil {
			return nil, false
		}
		r.oldest.Remove(first)
	}
	mine := r.oldest.PushBack(stop)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.oldest.Remove(mine) // nothing where it gave way before
	}, true
}
