package sign

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	tries         = 4 // of one request
	answerTimeout = 30 * time.Second
	firstWait     = 500 * time.Millisecond // before the second try at most, twice as long before each next
	longestWait   = time.Minute            // that a server may ask for
	maxAnswer     = 1 << 20                // bytes
	maxSaid       = 512                    // bytes of what a server says about its failure
)

// Patience says how long servers are waited for. Each request is tried 4 times at
// most: again after an answer of 429 or 5xx, one that is cut off, or none. Between
// two tries lie up to 0.5, 1 and 2 seconds, by chance, and the time that the
// server asks for (Retry-After). One that asks for more than a minute is not
// asked again. The zero value is right for the public-good Sigstore.
type Patience struct {
	// Answer bounds each try, up to the last byte of the answer; 0 means 30
	// seconds. A log of version 2 may take 20.
	Answer time.Duration
	// Sleep waits between two tries. It returns ctx's error if ctx ends before.
	// nil waits by a timer.
	Sleep func(ctx context.Context, d time.Duration) error
}

func (p Patience) sleep(ctx context.Context, d time.Duration) error {
	if p.Sleep != nil {
		return p.Sleep(ctx, d)
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

// newConnections is a transport that keeps as many connections to a server as
// requests run at once.
func newConnections(concurrency int) http.RoundTripper {
	shared, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport // somebody's own, to whom it is left
	}
	own := shared.Clone()
	own.MaxIdleConnsPerHost = concurrency
	return own
}

// patient is a transport that asks a stumbling server again, goes nowhere else
// than it is sent, and reads the whole of an answer, within bounds, before it
// hands it on: so an answer that is cut off is asked for again, too. It also ends
// with a context of its own, for sigstore-go asks Fulcio and timestamp
// authorities without one.
type patient struct {
	ctx      context.Context
	next     http.RoundTripper
	patience Patience
}

func (p patient) client() *http.Client { return &http.Client{Transport: p} }

// stumble is a failure that may be over when the server is asked again.
type stumble struct {
	err   error
	after time.Duration // that the server asks for
}

func (s *stumble) Error() string { return s.err.Error() }
func (s *stumble) Unwrap() error { return s.err }

// RoundTrip returns the first whole answer that is neither 429 nor 5xx.
func (p patient) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(request.Context())
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	for try, wait := 1, firstWait; ; try, wait = try+1, 2*wait {
		response, err := p.once(ctx, request)
		if err == nil {
			return response, nil
		}
		var again *stumble
		switch {
		case p.ctx.Err() != nil:
			return nil, p.ctx.Err()
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !errors.As(err, &again):
			return nil, err
		case again.after > longestWait:
			return nil, fmt.Errorf("%w (and asks not to be asked again for %s)", err, again.after)
		case try == tries:
			return nil, fmt.Errorf("%w (asked %d times)", err, tries)
		}
		// By chance, so that those who failed together do not come back together.
		chance := wait/2 + rand.N(wait/2) //nolint:gosec // nothing secret
		if err := p.patience.sleep(ctx, again.after+chance); err != nil {
			return nil, err
		}
	}
}

// once asks once. A failure that may be over soon is a *stumble.
func (p patient) once(ctx context.Context, request *http.Request) (*http.Response, error) {
	timeout := p.patience.Answer
	if timeout == 0 {
		timeout = answerTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %s", timeout))
	defer cancel()
	request = request.Clone(ctx)
	if request.GetBody != nil {
		body, err := request.GetBody()
		if err != nil {
			return nil, fmt.Errorf("repeat request: %w", err)
		}
		request.Body = body
	}
	response, err := p.next.RoundTrip(request)
	if err != nil {
		if bad := (*tls.CertificateVerificationError)(nil); errors.As(err, &bad) {
			return nil, err
		}
		return nil, &stumble{err: late(ctx, err)}
	}
	defer response.Body.Close() //nolint:errcheck // only read
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	said := bytes.TrimSpace(body[:min(len(body), maxSaid)])
	switch code := response.StatusCode; {
	case code == http.StatusTooManyRequests || code >= http.StatusInternalServerError:
		return nil, &stumble{err: fmt.Errorf("it returned %d: %s", code, said), after: retryAfter(response.Header)}
	case code >= http.StatusMultipleChoices && code < http.StatusBadRequest:
		return nil, fmt.Errorf("it returned %d, and what it leads to is not followed", code)
	case err != nil:
		return nil, &stumble{err: fmt.Errorf("read its answer: %w", late(ctx, err))}
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("its answer is larger than %d KiB", maxAnswer>>10)
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

// retryAfter is how long a server asks to be left alone (RFC 9110, section
// 10.2.3), by its own clock where it names a time; 0 if it does not say.
func retryAfter(header http.Header) time.Duration {
	value := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	now, dateErr := http.ParseTime(header.Get("Date"))
	if err != nil || dateErr != nil {
		return 0
	}
	return max(0, at.Sub(now))
}
