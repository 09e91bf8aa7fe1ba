package review

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"
)

const (
	tries     = 4
	firstWait = time.Second      // before the second try, twice as long before each next
	longWait  = 60 * time.Second // what GitHub asks for at its secondary limit, and the most
)

// patiently repeats a request that failed on its way, met a stumbling server or
// came too soon.
func (a *api) patiently(ctx context.Context, path, address string) (*answer, error) {
	for wait, left := firstWait, tries-1; ; wait, left = 2*wait, left-1 {
		got, err := a.once(ctx, path, address)
		asked, again := time.Duration(0), true
		var unknown *UnknownError
		switch {
		case err == nil && got.status == http.StatusOK:
			return got, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, &unknown):
			return nil, err
		case err == nil:
			err = &answerError{Path: path, Status: got.status, Said: said(got.body)}
			asked, again = retryAfter(got)
		}
		if left == 0 || !again || asked > longWait {
			return nil, err
		}
		if err := a.pause(ctx, max(wait, asked)); err != nil {
			return nil, err
		}
	}
}

// retryAfter says whether to ask again, and how long to wait before at least. The
// limit of the hour is not waited for; the secondary one, which GitHub tells by
// 429 or by 403 and how long to wait, is.
func retryAfter(got *answer) (wait time.Duration, again bool) {
	seconds, err := strconv.Atoi(got.header.Get("Retry-After"))
	asked := err == nil && seconds >= 0 && seconds < 1e6
	if asked {
		wait = time.Duration(seconds) * time.Second
	}
	switch {
	case got.status >= http.StatusInternalServerError:
		return wait, true
	case got.status != http.StatusTooManyRequests && got.status != http.StatusForbidden:
		return 0, false
	case asked:
		return wait, true
	default:
		return longWait, got.status == http.StatusTooManyRequests && got.header.Get("X-RateLimit-Remaining") != "0"
	}
}

// pause waits by the clock.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
