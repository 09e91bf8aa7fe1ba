package sign

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	retries   = 3
	firstWait = 500 * time.Millisecond // before the first retry, twice as long before each next
	longWait  = 8 * time.Second
	maxSaid   = 512 // bytes of what a server says about its failure
)

// patient is a transport that asks a stumbling server again, and that ends with
// its own context: sigstore-go makes its requests to Fulcio without one, asks
// nothing again that failed on the way, and loses what a failing server said.
type patient struct {
	ctx  context.Context
	next http.RoundTripper
}

// RoundTrip returns the first answer that is neither 429 nor 5xx.
func (p patient) RoundTrip(request *http.Request) (*http.Response, error) {
	// The answer is read after this returns, so the request's own context,
	// which ends with the answer's body, is the only one to cancel with.
	ctx, cancel := context.WithCancel(request.Context())
	context.AfterFunc(p.ctx, cancel)
	var failure error
	for wait, left := firstWait, retries; ; wait, left = 2*wait, left-1 {
		response, err := p.once(request.Clone(ctx))
		if err == nil {
			return response, nil
		}
		if failure = err; left == 0 || ctx.Err() != nil {
			break
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
	cancel()
	if err := p.ctx.Err(); err != nil {
		return nil, err
	}
	return nil, failure
}

func (p patient) once(request *http.Request) (*http.Response, error) {
	if request.GetBody != nil {
		body, err := request.GetBody()
		if err != nil {
			return nil, fmt.Errorf("repeat request: %w", err)
		}
		request.Body = body
	}
	response, err := p.next.RoundTrip(request)
	if err != nil || (response.StatusCode < http.StatusInternalServerError && response.StatusCode != http.StatusTooManyRequests) {
		return response, err
	}
	defer response.Body.Close() //nolint:errcheck // only read
	said, _ := io.ReadAll(io.LimitReader(response.Body, maxSaid))
	return nil, fmt.Errorf("it returned %d: %s", response.StatusCode, said)
}
