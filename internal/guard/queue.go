package guard

import "context"

// decider decides a request that was read.
type decider func(ctx context.Context, raw []byte, f form) *Decision

// inTurn decides a request when its turn comes.
func (h *Handler) inTurn(ctx context.Context, raw []byte, f form) *Decision {
	return h.queue(ctx, raw, f, []chan struct{}{h.waiting}, []chan struct{}{h.turns})
}

// queue decides a request after it has a place in all queues and a turn from each list. It answers
// before the deadline even if the work takes longer.
func (h *Handler) queue(ctx context.Context, raw []byte, f form, places, turns []chan struct{}) *Decision {
	for _, place := range places {
		select {
		case place <- struct{}{}:
			defer func() { <-place }()
		default:
			return denied(f.uidOf(raw), ReasonOverloaded, "too many requests wait")
		}
	}
	release := func(taken []chan struct{}) {
		for _, turn := range taken {
			<-turn
		}
	}
	for n, turn := range turns {
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			release(turns[:n])
			return denied(f.uidOf(raw), ReasonOverloaded, "it waited too long")
		}
	}
	decided := make(chan *Decision, 1)
	go func() {
		// The turn lasts as long as the work, even if the client no longer waits.
		defer release(turns)
		decided <- h.decide(ctx, raw, f)
	}()
	select {
	case d := <-decided:
		return d
	case <-ctx.Done():
		return denied(f.uidOf(raw), ReasonUndecided, "the check took too long")
	}
}
