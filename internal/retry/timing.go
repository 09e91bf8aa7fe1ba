package retry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	tries         = 4 // of one request
	answerTimeout = 30 * time.Second
	firstWait     = 500 * time.Millisecond // maximum before the second try; doubles with each further try
	longestWait   = time.Minute            // maximum of Retry-After
	uploadRate    = 512 << 10              // bytes for which a try gets one more second
	commandLimit  = 6                      // the limit of a command, in timeouts of a request
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

func (t Timing) answer() time.Duration { return cmp.Or(t.Answer, answerTimeout) }

// Sleep waits, and returns ctx's error if that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Pause waits before the next try: wait, of which half is random so that processes that collided once do not
// collide again, and the time that the server requests.
func (t Timing) Pause(ctx context.Context, wait, after time.Duration) error {
	sleep := t.Sleep
	if sleep == nil {
		sleep = Sleep
	}
	return sleep(ctx, after+wait/2+rand.N(wait/2)) //nolint:gosec // nothing secret
}

// Command repeats a command that asks a server, as often as a request is sent and with the same
// waits, while its error is [Transient]. All tries together have one limit: 6 times the timeout of
// a request ([Timing.Limit]). run must return the cause of its context when that ends.
func (t Timing) Command(ctx context.Context, run func(context.Context) error) error {
	limit := t.Limit()
	within, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
	defer cancel()
	for try, wait := 1, firstWait; ; try, wait = try+1, 2*wait {
		err := run(within)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case within.Err() != nil:
			return Transient(err)
		case !Unavailable(err):
			return err
		case try == tries:
			return fmt.Errorf("%w (tried %d times)", err, tries)
		}
		if t.Pause(within, wait, 0) != nil {
			return cmp.Or(ctx.Err(), err)
		}
	}
}

// Limit is the limit of [Timing.Command]: 3 minutes by default.
func (t Timing) Limit() time.Duration { return commandLimit * t.answer() }

// Transient marks an error as one that a retry may cure.
func Transient(err error) error { return &transientError{error: err} }

// Unavailable reports whether a server was the cause of an error: it could not be reached, gave no
// answer in time, failed or was overloaded. The same request may succeed later.
func Unavailable(err error) bool {
	var transient *transientError
	return errors.As(err, &transient)
}
