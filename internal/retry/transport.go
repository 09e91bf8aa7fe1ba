package retry

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"
)

// DefaultMaxAnswer is how long an answer may be when nothing else is said, in
// bytes.
const DefaultMaxAnswer = 1 << 20

var _ http.RoundTripper = Transport{}

// Transport sends requests patiently. Its zero value is the strictest.
type Transport struct {
	Timing
	// Next sends each try; nil means [http.DefaultTransport].
	Next http.RoundTripper
	// MaxAnswer is how long an answer may be, in bytes; 0 means
	// [DefaultMaxAnswer].
	MaxAnswer int
	// FollowOnHost hands on up to 3 redirects in a row that stay on the same
	// scheme and host, for an [http.Client] to follow. Others are errors.
	FollowOnHost bool
	// SecondaryLimits reads limits as GitHub's API means them: 403 with
	// Retry-After is one as well, 429 without it is over in a minute, and one of
	// the hour (X-RateLimit-Remaining: 0) is not waited for.
	SecondaryLimits bool

	until context.Context
}

// Within returns a transport that ends with ctx, too, and not only with the
// context of each request: for libraries that ask without one.
func (t Transport) Within(ctx context.Context) Transport {
	t.until = ctx
	return t
}

// transientError is a failure that may be over when the server is asked again.
type transientError struct {
	error
	after time.Duration // that the server asks for
}

func (s *transientError) Unwrap() error { return s.error }

// RoundTrip returns the first whole answer after which nobody has to ask again.
// Where the server goes on failing, the error is a [*StatusError].
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
			return nil, fmt.Errorf("%w (and asks not to be asked again for %s)", err, again.after)
		case request.Body != nil && request.GetBody == nil:
			return nil, fmt.Errorf("%w (asked once: the request cannot be repeated)", err)
		case try == tries:
			return nil, fmt.Errorf("%w (asked %d times)", err, tries)
		}
		chance := wait/2 + rand.N(wait/2) //nolint:gosec // nothing secret
		if err := t.sleep(ctx, again.after+chance); err != nil {
			return nil, cmp.Or(until.Err(), err)
		}
	}
}

// once asks once. A failure that may be over soon is a *transientError.
func (t Transport) once(ctx context.Context, request *http.Request) (*http.Response, error) {
	timeout := t.answer()
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
	if after, again := t.transient(response); again {
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

// late says that it took too long, where that is why something failed.
func late(ctx context.Context, err error) error {
	if ctx.Err() == context.DeadlineExceeded { //nolint:errorlint // as Err is documented
		return context.Cause(ctx)
	}
	return err
}
