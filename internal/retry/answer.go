package retry

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	maxSaid      = 512 // bytes of what a server says about its failure
	maxRedirects = 3
)

// StatusError is an answer with another status than the one that was asked for.
type StatusError struct {
	Status int
	Said   string // by the server, untrusted; up to 512 bytes
}

// Returned makes an error of an answer's status and body.
func Returned(status int, body []byte) *StatusError {
	return &StatusError{status, strings.ToValidUTF8(strings.TrimSpace(string(body[:min(len(body), maxSaid)])), "?")}
}

// Error returns the status and what the server said.
func (e *StatusError) Error() string { return fmt.Sprintf("it returned %d: %s", e.Status, e.Said) }

// transient says whether to ask again after an answer, and how long to wait before
// at least.
func (t Transport) transient(response *http.Response) (after time.Duration, again bool) {
	after, asked := retryAfter(response.Header)
	limited := response.StatusCode == http.StatusTooManyRequests
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

// retryAfter is how long a server asks to be left alone (RFC 9110, section
// 10.2.3), by its own clock where it names a time, and whether it does.
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

// mayFollow refuses a redirect, unless it is one of a few that stay on the same
// host: what a request carries, such as a token, goes nowhere else, and not over
// an open line.
func (t Transport) mayFollow(response *http.Response) error {
	from := response.Request
	to, err := response.Location()
	if !t.FollowOnHost || err != nil {
		return fmt.Errorf("it returned %d; redirects are not followed", response.StatusCode)
	}
	if to.Scheme != from.URL.Scheme || to.Host != from.URL.Host {
		return fmt.Errorf("it leads to another host, %q", to.Host)
	}
	followed := 0
	for before := from.Response; before != nil && before.Request != nil; before = before.Request.Response {
		followed++
	}
	if followed == maxRedirects {
		return errors.New("it leads in circles")
	}
	return nil
}
