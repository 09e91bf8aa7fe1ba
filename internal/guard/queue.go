package guard

import "context"

// decider decides a request that was read.
type decider func(ctx context.Context, raw []byte) *Decision

// inTurn decides a request after it has a place among the waiting requests and a turn. It answers before the
// deadline even if the work takes longer.
func (h *Handler) inTurn(ctx context.Context, raw []byte) *Decision {
	select {
	case h.waiting <- struct{}{}:
		defer func() { <-h.waiting }()
	default:
		return denied(uidOf(raw), ReasonOverloaded, "too many requests wait")
	}
	select {
	case h.turns <- struct{}{}:
	case <-ctx.Done():
		return denied(uidOf(raw), ReasonOverloaded, "it waited too long")
	}
	decided := make(chan *Decision, 1)
	go func() {
		// The turn lasts as long as the work, even if the client no longer waits.
		defer func() { <-h.turns }()
		decided <- h.decide(ctx, raw)
	}()
	select {
	case d := <-decided:
		return d
	case <-ctx.Done():
		return denied(uidOf(raw), ReasonUndecided, "the check took too long")
	}
}
