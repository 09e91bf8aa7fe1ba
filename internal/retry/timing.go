package retry

import (
	"context"
	"time"
)

const (
	tries         = 4 // of one request
	answerTimeout = 30 * time.Second
	firstWait     = 500 * time.Millisecond // maximum before the second try; doubles with each further try
	longestWait   = time.Minute            // maximum of Retry-After
)

// Timing configures the timeouts and waits. The zero value suits GitHub and the public-good
// Sigstore.
type Timing struct {
	// Answer is the timeout of each try, up to the last byte of the answer; 0 means 30 seconds. A
	// log of version 2 may need 20.
	Answer time.Duration
	// Sleep waits between two tries. It returns ctx's error if ctx ends first. If nil, a timer is
	// used.
	Sleep func(ctx context.Context, d time.Duration) error
}

func (t Timing) answer() time.Duration {
	if t.Answer == 0 {
		return answerTimeout
	}
	return t.Answer
}

func (t Timing) sleep(ctx context.Context, d time.Duration) error {
	if t.Sleep != nil {
		return t.Sleep(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
