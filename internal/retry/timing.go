package retry

import (
	"context"
	"time"
)

const (
	tries         = 4 // of one request
	answerTimeout = 30 * time.Second
	firstWait     = 500 * time.Millisecond // before the second try at most, twice as long before each next
	longestWait   = time.Minute            // that a server may ask for
)

// Timing says how long servers are waited for. The zero value is right for
// GitHub and for the public-good Sigstore.
type Timing struct {
	// Answer bounds each try, up to the last byte of the answer; 0 means 30
	// seconds. A log of version 2 may take 20.
	Answer time.Duration
	// Sleep waits between two tries. It returns ctx's error if ctx ends before.
	// nil waits by a timer.
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
