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
	"net/url"
	"strconv"
	"strings"
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
		if err := t.Pause(ctx, wait, again.after); err != nil {
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
	if response.StatusCode/100 == http.StatusMultipleChoices/100 {
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

// CheckAddress rejects an address of a server without TLS: tokens and signatures must not be sent over
// plain http. Loopback is allowed. Its errors do not contain the address, which may contain a password.
func CheckAddress(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return errors.New("not an https address")
	}
	switch h := u.Hostname(); {
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("only scheme, host and path are allowed")
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && (h == "127.0.0.1" || h == "localhost" || h == "::1"):
		return nil
	default:
		return errors.New("not an https address")
	}
}

const (
	maxSaid      = 512 // bytes of a server's error message
	maxRedirects = 3
)

// StatusError is an answer with an unexpected status.
type StatusError struct {
	Status int
	Said   string // by the server, untrusted; up to 512 bytes
}

// Returned creates an error from the status and body of an answer.
func Returned(status int, body []byte) *StatusError {
	return &StatusError{status, strings.ToValidUTF8(strings.TrimSpace(string(body[:min(len(body), maxSaid)])), "?")}
}

// Error returns the status and the server's message.
func (e *StatusError) Error() string { return fmt.Sprintf("it returned %d: %s", e.Status, e.Said) }

// transient reports whether to retry after an answer, and the minimum wait.
func (t Transport) transient(response *http.Response, body []byte) (after time.Duration, again bool) {
	after, asked := retryAfter(response.Header)
	limited := response.StatusCode == http.StatusTooManyRequests ||
		t.SecondaryLimits && response.StatusCode == http.StatusForbidden &&
			bytes.Contains(bytes.ToLower(body), []byte("secondary rate limit"))
	switch {
	case response.StatusCode >= http.StatusInternalServerError, limited && !t.SecondaryLimits:
		return after, true
	case !t.SecondaryLimits || !limited && response.StatusCode != http.StatusForbidden:
		return 0, false
	case asked:
		return after, true
	default:
		return longestWait, limited && response.Header.Get("X-RateLimit-Remaining") != "0"
	}
}

// retryAfter returns the wait that a server requests (RFC 9110, section 10.2.3), and whether it
// requests one. It measures a date by the server's clock.
func retryAfter(header http.Header) (after time.Duration, asked bool) {
	value := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(value)
	now, dateErr := http.ParseTime(header.Get("Date"))
	if err != nil || dateErr != nil {
		return 0, false
	}
	return max(0, at.Sub(now)), true
}

// mayFollow rejects a redirect, except a few on the same scheme and host. A request may carry a
// token, which must not go to another host or over a connection without TLS.
func (t Transport) mayFollow(response *http.Response) error {
	from := response.Request
	to, err := response.Location()
	if !t.FollowOnHost || err != nil {
		return fmt.Errorf("it returned %d; redirects are not followed", response.StatusCode)
	}
	if to.Scheme != from.URL.Scheme || to.Host != from.URL.Host {
		return fmt.Errorf("it redirects to another host, %q", to.Host)
	}
	if status := response.StatusCode; from.Method != http.MethodGet && status != http.StatusTemporaryRedirect &&
		status != http.StatusPermanentRedirect {
		return fmt.Errorf("it redirects with status %d, and a GET would replace the %s", status, from.Method)
	}
	followed := 0
	for before := from.Response; before != nil && before.Request != nil; before = before.Request.Response {
		followed++
	}
	if followed == maxRedirects {
		return errors.New("it redirects in a loop")
	}
	return nil
}
