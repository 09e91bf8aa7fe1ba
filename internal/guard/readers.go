package guard

import (
	"bytes"
	"container/list"
	"context"
	"fmt"
	"io"
	"sync"
	"time"
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

// incoming is a body on its way.
type incoming struct {
	io.Reader
	readUntil func(time.Time) error
	stopped   chan struct{} // closed once it gave way
}

// stop ends the reading at once, and the waiting for a place among the large ones.
func (i incoming) stop() error {
	err := i.readUntil(time.Unix(1, 0))
	if err == nil {
		close(i.stopped)
	}
	return err
}

// handle reads a request and has it decided, in this order, so that a body that
// comes slowly holds no place of one that is here.
func (h *Handler) handle(ctx context.Context, body incoming, f form, decide decider) *Decision {
	end, ok := h.reading.begin(body.stop)
	if !ok {
		return unread(body, f, "more requests are read than the guard reads at once")
	}
	raw, err := io.ReadAll(io.LimitReader(body, small+1))
	if err == nil && len(raw) > small {
		select {
		case h.large <- struct{}{}:
			defer func() { <-h.large }()
			end() // it counts among the large ones from here on
		case <-body.stopped:
			return denied(f.uidOf(raw), ReasonOverloaded, "it gave way to newer requests")
		case <-ctx.Done():
			end()
			return denied(f.uidOf(raw), ReasonOverloaded, "too many large requests are here")
		}
		_ = body.readUntil(time.Now().Add(largeWithin)) // by the clock of the connection
		raw, err = io.ReadAll(io.LimitReader(io.MultiReader(bytes.NewReader(raw), body), MaxReview+1))
	}
	end() // after which it is known whether it gave way
	if err != nil {
		select {
		case <-body.stopped:
			return denied(f.uidOf(raw), ReasonOverloaded, "it gave way to newer requests")
		default:
		}
		return denied(f.uidOf(raw), ReasonUndecided, "the request could not be read: "+err.Error())
	}
	if len(raw) > MaxReview {
		return denied(f.uidOf(raw), ReasonTooLarge, fmt.Sprintf("the request has more than %d bytes", MaxReview))
	}
	return decide(ctx, raw, f)
}

// prefix is how much of a request is looked at to answer it without reading it.
const prefix = 4 << 10

// unread denies a request that there is no room to read.
func unread(body io.Reader, f form, detail string) *Decision {
	raw, _ := io.ReadAll(io.LimitReader(body, prefix))
	return denied(f.uidOf(raw), ReasonOverloaded, detail)
}
