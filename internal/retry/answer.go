package retry

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

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

func redirects(response *http.Response) bool {
	return response.StatusCode >= http.StatusMultipleChoices && response.StatusCode < http.StatusBadRequest
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
