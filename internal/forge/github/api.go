package github

import (
	"bytes"
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

const (
	maxAnswer = 32 << 20   // bytes: enough for 100 texts of 65,536 characters
	graphQL   = "/graphql" // the path of a call to the GraphQL API
)

// call is a request.
type call struct {
	method, path string
	query        url.Values
	value        any  // the body, as JSON; nil for none
	once         bool // no retry
}

// do sends a request, and decodes the answer if into is not nil.
func (c *Client) do(ctx context.Context, how call, into any) (http.Header, error) {
	var body []byte
	if how.value != nil {
		var err error
		if body, err = json.Marshal(how.value); err != nil {
			return nil, err
		}
	}
	address := c.base + how.path
	if how.path == graphQL {
		address = c.graphQL
	}
	request, err := http.NewRequestWithContext(ctx, how.method, address, bytes.NewReader(body))
	if err != nil {
		return nil, c.hide(err)
	}
	request.URL.RawQuery = how.query.Encode()
	if how.once {
		request.GetBody = nil
	}
	request.Header.Set("User-Agent", "polex")
	request.Header.Set("Accept", "application/vnd.github+json")
	request.Header.Set("X-GitHub-Api-Version", apiVersion)
	request.Header.Set("Authorization", "Bearer "+c.token)
	response, err := c.http.Do(request)
	if err != nil { // no answer: which server it is matters
		return nil, fmt.Errorf("%s %s: %w", how.method, address, c.hide(err))
	}
	defer response.Body.Close() //nolint:errcheck // only read
	answer, err := io.ReadAll(response.Body)
	done := []int{http.StatusOK, http.StatusCreated, http.StatusNoContent}
	if how.method == http.MethodGet {
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
		return nil, fmt.Errorf("%s %s: %w", how.method, how.path, c.hide(err))
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

// hide removes the token, and the address in errors of net/http.
func (c *Client) hide(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	return hidden{err, c.token}
}
