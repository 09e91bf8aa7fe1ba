package retry

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// DefaultMaxAnswer is the default maximum size of an answer, in bytes.
const DefaultMaxAnswer = 1 << 20

var _ http.RoundTripper = Transport{}

// Transport sends requests and retries them. Its zero value is the strictest.
type Transport struct {
	Timing
	// Next sends each try; nil means [http.DefaultTransport].
	Next http.RoundTripper
	// MaxAnswer is the maximum size of an answer in bytes; 0 means [DefaultMaxAnswer].
	MaxAnswer int
	// FollowOnHost returns up to 3 redirects in a row on the same scheme and host, so that an
	// [http.Client] can follow them. Others are errors.
	FollowOnHost bool
	// SecondaryLimits applies the rules of GitHub's API: 403 with Retry-After or a message about a
	// secondary rate limit is a rate limit too, and without Retry-After it ends in a minute. The hourly limit
	// (X-RateLimit-Remaining: 0) is not retried.
	SecondaryLimits bool

	until context.Context
}

// Within returns a transport that also ends with ctx, in addition to the context of each request.
// It is for libraries that send requests without a context.
func (t Transport) Within(ctx context.Context) Transport {
	t.until = ctx
	return t
}

// transientError is a failure for which a retry may help.
type transientError struct {
	error
	after time.Duration // the wait that the server requests
}

func (s *transientError) Unwrap() error { return s.error }

// RoundTrip returns the first complete answer that needs no retry. If the server keeps failing, the
// error is a [*StatusError].
func (t Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		defer request.Body.Close() //nolint:errcheck // only read
	}
	until := cmp.Or(t.until, request.Context())
	ctx, cancel := context.WithCancel(request.Context())
	defer cancel()
	defer context.AfterFunc(until, cancel)()
	for try, wait := 1, firstWait; ; try, wait = try+1, 2*wait {
		response, err := t.once(ctx, request)
		if err == nil {
			return response, nil
		}
		var again *transientError
		ended := cmp.Or(until.Err(), ctx.Err())
		switch {
		case ended != nil:
			return nil, ended
		case !errors.As(err, &again):
			return nil, err
		case again.after > longestWait:
			return nil, fmt.Errorf("%w (and requests no retry for %s)", err, again.after)
		case request.Body != nil && request.GetBody == nil:
			return nil, fmt.Errorf("%w (no retry: the request cannot be repeated)", err)
		case try == tries:
			return nil, fmt.Errorf("%w (asked %d times)", err, tries)
		}
		if err := t.pause(ctx, wait, again.after); err != nil {
			return nil, cmp.Or(until.Err(), err)
		}
	}
}

// once sends a request once. A failure for which a retry may help is a *transientError.
func (t Transport) once(ctx context.Context, request *http.Request) (*http.Response, error) {
	timeout := t.answer() + time.Duration(request.ContentLength/uploadRate)*time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %s", timeout))
	defer cancel()
	try := request.Clone(ctx)
	if request.GetBody != nil {
		body, err := request.GetBody()
		if err != nil {
			return nil, fmt.Errorf("repeat request: %w", err)
		}
		try.Body = body
	}
	response, err := cmp.Or(t.Next, http.DefaultTransport).RoundTrip(try)
	if err != nil {
		if bad := (*tls.CertificateVerificationError)(nil); errors.As(err, &bad) {
			return nil, err
		}
		return nil, &transientError{error: late(ctx, err)}
	}
	defer response.Body.Close() //nolint:errcheck // only read
	most := cmp.Or(t.MaxAnswer, DefaultMaxAnswer)
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(most)+1))
	response.Request = request
	if after, again := t.transient(response, body); again {
		return nil, &transientError{error: Returned(response.StatusCode, body), after: after}
	}
	if redirects(response) {
		if err := t.mayFollow(response); err != nil {
			return nil, err
		}
	}
	switch {
	case err != nil:
		return nil, &transientError{error: fmt.Errorf("read its answer: %w", late(ctx, err))}
	case len(body) > most:
		return nil, fmt.Errorf("its answer is larger than %d KiB", most>>10)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	response.ContentLength = int64(len(body))
	return response, nil
}

// late returns the timeout error if the timeout caused the failure.
func late(ctx context.Context, err error) error {
	if ctx.Err() == context.DeadlineExceeded { //nolint:errorlint // as Err is documented
		return context.Cause(ctx)
	}
	return err
}
