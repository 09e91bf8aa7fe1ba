package restapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/retry"
)

const maxAnswer = 32 << 20 // bytes: enough for 100 texts of 65,536 characters

// Config configures the access to an API.
type Config struct {
	// HTTP sends the requests. Redirects to another host are errors.
	HTTP   *http.Client
	Timing retry.Timing
	// URL is the address of the API, such as https://api.github.com. It must use https, except on
	// loopback.
	URL   string
	Token string
	// Header is a part of each request, and contains the token.
	Header map[string]string
}

// Client sends requests. It is safe for concurrent use.
type Client struct {
	http        http.Client
	base, token string // the token is hidden in errors
	header      map[string]string
}

// New returns a client for a valid configuration.
func New(c Config) (*Client, error) {
	base, err := CheckAddress(c.URL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("address of the API: %w", err)
	case c.HTTP == nil:
		return nil, errors.New("there is no HTTP client")
	case c.Token == "" || strings.ContainsAny(c.Token, " \r\n\t"):
		return nil, errors.New("the token for the API is missing or malformed")
	}
	client := &Client{http: *c.HTTP, base: base, token: c.Token, header: c.Header}
	client.http.Transport = retry.Transport{Timing: c.Timing, Next: c.HTTP.Transport, MaxAnswer: maxAnswer,
		FollowOnHost: true, SecondaryLimits: true}
	return client, nil
}

// CheckAddress returns a server's address without the final slash. An address without TLS is an
// error, because it would expose the token. Loopback is allowed.
func CheckAddress(address string) (string, error) {
	u, err := url.Parse(address)
	switch {
	case err == nil && u.User != nil: // possibly with a password
		return "", errors.New("this is not an address: it contains a user name; write it as https://git.example.com, " +
			"and set the token by itself")
	case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("%q is not an address: write it as https://git.example.com", address)
	}
	host := u.Hostname()
	loopback := host == "127.0.0.1" || host == "::1" || host == "localhost"
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback) {
		return "", fmt.Errorf("%q does not use https", address)
	}
	return strings.TrimSuffix(address, "/"), nil
}

// Base returns the address of the API, without a final slash.
func (c *Client) Base() string { return c.base }

// Call is a request.
type Call struct {
	Method, Path string
	Address      string // instead of the API's address with Path
	Query        url.Values
	Value        any  // the body, as JSON; nil for none
	Once         bool // no retry
}

// Do sends a request, and decodes the answer if into is not nil.
func (c *Client) Do(ctx context.Context, how Call, into any) (http.Header, error) {
	var body []byte
	if how.Value != nil {
		var err error
		if body, err = json.Marshal(how.Value); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, how.Method, cmp.Or(how.Address, c.base+how.Path),
		bytes.NewReader(body))
	if err != nil {
		return nil, c.Hide(err)
	}
	request.URL.RawQuery = how.Query.Encode()
	if how.Once {
		request.GetBody = nil
	}
	request.Header.Set("User-Agent", "polex")
	for name, value := range c.header {
		request.Header.Set(name, value)
	}
	response, err := c.http.Do(request)
	if err != nil { // no answer: which server it is matters
		return nil, fmt.Errorf("%s %s: %w", how.Method, cmp.Or(how.Address, c.base+how.Path), c.Hide(err))
	}
	defer response.Body.Close() //nolint:errcheck // only read
	answer, err := io.ReadAll(response.Body)
	done := []int{http.StatusOK, http.StatusCreated, http.StatusNoContent}
	if how.Method == http.MethodGet {
		done = done[:1]
	}
	if err == nil && !slices.Contains(done, response.StatusCode) {
		err = retry.Returned(response.StatusCode, answer)
	}
	if err == nil && into != nil {
		if err = json.Unmarshal(answer, into); err != nil {
			err = fmt.Errorf("its answer is not one of this API: %w", err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", how.Method, how.Path, c.Hide(err))
	}
	return response.Header, nil
}

// hidden is an error without the token in its text.
type hidden struct {
	error
	token string
}

func (h hidden) Error() string { return strings.ReplaceAll(h.error.Error(), h.token, "[secret]") }
func (h hidden) Unwrap() error { return h.error }

// Hide removes the token, and the address in errors of net/http.
func (c *Client) Hide(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	return hidden{err, c.token}
}
