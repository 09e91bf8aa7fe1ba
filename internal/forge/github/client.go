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
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/polex-dev/polex/internal/forge"
	"github.com/polex-dev/polex/internal/retry"
)

const (
	apiVersion = "2022-11-28"
	perPage    = 100
	maxPages   = 30
)

// Config configures the access to the API.
type Config struct {
	// HTTP sends the requests. Redirects to another host are errors.
	HTTP   *http.Client
	Timing retry.Timing
	// APIURL is the address of the API, such as https://api.github.com. ServerURL is the address of
	// the web pages, such as https://github.com. Both must use https, except on loopback.
	APIURL, ServerURL string
	// Repository is "owner/name".
	Repository string
	Token      string
}

// Client sends requests about one repository. It is safe for concurrent use.
type Client struct {
	http                              http.Client
	base, graphQL, server, repository string // addresses without a final slash
	token                             string // hidden in errors
}

var _ forge.Forge = (*Client)(nil)

// repositoryForm allows the underscore in enterprise account names.
var repositoryForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,38}/[A-Za-z0-9._-]{1,100}$`)

// checkRepository rejects a name that is not "owner/name".
func checkRepository(name string) error {
	if !repositoryForm.MatchString(name) || strings.HasSuffix(name, "/.") || strings.HasSuffix(name, "/..") {
		return fmt.Errorf("%q is not a repository: write it as owner/name", name)
	}
	return nil
}

// New returns a client for a valid configuration.
func New(c Config) (*Client, error) {
	client := &Client{base: strings.TrimSuffix(c.APIURL, "/"), server: strings.TrimSuffix(c.ServerURL, "/"),
		repository: c.Repository, token: c.Token}
	client.graphQL = client.base + "/graphql"
	if enterprise, is := strings.CutSuffix(client.base, "/api/v3"); is {
		client.graphQL = enterprise + "/api/graphql"
	}
	if err := retry.CheckAddress(c.APIURL); err != nil {
		return nil, fmt.Errorf("address of the API: %w", err)
	}
	if err := retry.CheckAddress(c.ServerURL); err != nil {
		return nil, fmt.Errorf("address of the server: %w", err)
	}
	switch err := checkRepository(c.Repository); {
	case err != nil:
		return nil, err
	case c.HTTP == nil:
		return nil, errors.New("there is no HTTP client")
	case c.Token == "" || strings.ContainsAny(c.Token, " \r\n\t"):
		return nil, errors.New("the token for the API is missing or malformed")
	}
	client.http = *c.HTTP
	client.http.Transport = retry.Transport{Timing: c.Timing, Next: c.HTTP.Transport, MaxAnswer: maxAnswer,
		FollowOnHost: true, SecondaryLimits: true}
	return client, nil
}

// path returns an API path below the repository.
func (c *Client) path(format string, args ...any) string {
	return "/repos/" + c.repository + fmt.Sprintf(format, args...)
}

// get reads a page and decodes it. more means that another page follows.
func (c *Client) get(ctx context.Context, path string, query url.Values, into any) (more bool, err error) {
	header, err := c.do(ctx, call{method: http.MethodGet, path: path, query: query}, into)
	return hasNext(header), err
}

// send sends a value and decodes the answer. It sends a POST only once: the caller must check its
// effect before a repetition.
func (c *Client) send(ctx context.Context, method, path string, value, into any) error {
	_, err := c.do(ctx, call{method: method, path: path, once: method == http.MethodPost, value: value},
		into)
	return err
}

// pages reads the pages in order and calls visit for each, until it returns false or there are no
// more. More than 30 pages are an error.
func pages[T any](ctx context.Context, c *Client, path string, visit func([]T) (more bool)) error {
	for page := 1; page <= maxPages; page++ {
		var items []T
		more, err := c.get(ctx, path, url.Values{"per_page": {strconv.Itoa(perPage)}, "page": {strconv.Itoa(page)}},
			&items)
		if err != nil {
			return err
		}
		// A full page without a next link is not the end: a later page may contain the dismissal of
		// an approval.
		if !visit(items) || !more && len(items) < perPage {
			return nil
		}
	}
	return fmt.Errorf("GET %s: there are more than %d pages", path, maxPages)
}

// hasNext reports whether the answer links to a next page. The address of the link is not used.
func hasNext(header http.Header) bool {
	for _, link := range header.Values("Link") {
		if strings.Contains(link, `rel="next"`) {
			return true
		}
	}
	return false
}

var hashForm = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)

// advised is an error with a hint for the user.
type advised struct {
	error
	hint string
}

func (a advised) Unwrap() error { return a.error }

// Hint returns the hint.
func (a advised) Hint() string { return a.hint }

// advise adds a hint to the answers that a wrong token or commit causes.
func advise(err error) error {
	var answered *retry.StatusError
	switch {
	case !errors.As(err, &answered):
	case answered.Status == http.StatusUnauthorized:
		return advised{err, "is the token one of this server, and still valid?"}
	case answered.Status == http.StatusForbidden && strings.Contains(answered.Said, "rate limit"):
		return advised{err, "the token has reached its rate limit: run it again later"}
	case answered.Status == http.StatusUnprocessableEntity:
		return advised{err, "is the commit pushed?"}
	case answered.Status == http.StatusForbidden || answered.Status == http.StatusNotFound:
		return advised{err, "the token needs the permissions pull-requests: read and contents: read; a person's " +
			"token must also be able to push"}
	}
	return err
}

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
