package guard

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/polex-dev/polex/internal/guard/fair"
)

// readers limits the bodies that are read at once. A body from the API server arrives within
// milliseconds. If there are too many, the oldest read of the client with most reads is stopped in
// favour of the new one.
type readers struct {
	mu   sync.Mutex
	most int
	read fair.Places[func() error] // each stops the read of one body
}

// begin makes room for a body of the client at an address. stop ends the read from another goroutine,
// and is not called after end has returned. ok is false if no read can be stopped.
func (r *readers) begin(address string, stop func() error) (end func(), ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.read.Len() >= r.most {
		displaced := r.read.Next()
		if displaced.Value() != nil {
			return nil, false
		}
		r.read.Remove(displaced)
	}
	mine := r.read.Add(address, stop)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.read.Remove(mine)
	}, true
}

// incoming is a body that is being read.
type incoming struct {
	io.Reader
	from      string // address of the client
	readUntil func(time.Time) error
	stopped   chan struct{} // closed when the read is stopped
}

// stop ends the read at once, and the wait for a place among the large requests.
func (i incoming) stop() error {
	err := i.readUntil(time.Unix(1, 0))
	if err == nil {
		close(i.stopped)
	}
	return err
}

// handle reads a request before it waits for a turn, so a slow body does not occupy the place of a
// complete one.
func (h *Handler) handle(ctx context.Context, body incoming,
	decide func(ctx context.Context, raw []byte) *Decision) *Decision {
	end, ok := h.reading.begin(body.from, body.stop)
	if !ok {
		raw, _ := io.ReadAll(io.LimitReader(body, prefix))
		return denied(uidOf(raw), ReasonOverloaded, "too many requests arrive at once")
	}
	raw, err := io.ReadAll(io.LimitReader(body, small+1))
	if err == nil && len(raw) > small {
		select {
		case h.large <- struct{}{}:
			defer func() { <-h.large }()
			end() // from here on it counts as a large request
		case <-body.stopped:
			return denied(uidOf(raw), ReasonOverloaded, "it was dropped for newer requests")
		case <-ctx.Done():
			end()
			return denied(uidOf(raw), ReasonOverloaded, "too many large requests arrive at once")
		}
		_ = body.readUntil(time.Now().Add(largeWithin)) // connections use the wall clock
		raw, err = io.ReadAll(io.LimitReader(io.MultiReader(bytes.NewReader(raw), body), MaxReview+1))
	}
	end() // no stop follows, so the result is final
	if err != nil {
		select {
		case <-body.stopped:
			return denied(uidOf(raw), ReasonOverloaded, "it was dropped for newer requests")
		default:
		}
		return denied(uidOf(raw), ReasonUndecided, "the request could not be read: "+err.Error())
	}
	if len(raw) > MaxReview {
		return denied(uidOf(raw), ReasonTooLarge, fmt.Sprintf("the request has more than %d bytes", MaxReview))
	}
	return decide(ctx, raw)
}

// prefix is the number of bytes that are read of a request that is denied unread.
const prefix = 4 << 10
