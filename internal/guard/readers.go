package guard

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"
)

// incoming is a body that is being read.
type incoming struct {
	io.Reader
	from      string // address of the client
	readUntil func(time.Time) error
	stopped   chan struct{} // closed when the read is stopped
}

// stop ends the read at once, and the wait for a place among the large requests. It returns false if
// the read cannot be stopped.
func (i incoming) stop() bool {
	if i.readUntil(time.Unix(1, 0)) != nil {
		return false
	}
	close(i.stopped)
	return true
}

// handle reads a request before it waits for a turn, so a slow body does not occupy the place of a
// complete one. A body from the API server arrives within milliseconds. If too many are read, the oldest
// read of the client with most reads is stopped in favour of the new one.
func (h *Handler) handle(ctx context.Context, body incoming,
	decide func(ctx context.Context, raw []byte) *Decision) *Decision {
	place := h.reading.Add(body.from, body, incoming.stop)
	if place == nil {
		raw, _ := io.ReadAll(io.LimitReader(body, prefix))
		return denied(uidOf(raw), ReasonOverloaded, "too many requests arrive at once")
	}
	raw, err := io.ReadAll(io.LimitReader(body, small+1))
	if err == nil && len(raw) > small {
		select {
		case h.large <- struct{}{}:
			defer func() { <-h.large }()
			place.Remove() // from here on it counts as a large request
		case <-body.stopped:
			return denied(uidOf(raw), ReasonOverloaded, "it was dropped for newer requests")
		case <-ctx.Done():
			place.Remove()
			return denied(uidOf(raw), ReasonOverloaded, "too many large requests arrive at once")
		}
		_ = body.readUntil(time.Now().Add(largeWithin)) // connections use the wall clock
		raw, err = io.ReadAll(io.LimitReader(io.MultiReader(bytes.NewReader(raw), body), MaxReview+1))
	}
	place.Remove() // no stop follows, so the result is final
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
