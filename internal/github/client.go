package github

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
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/polex-dev/polex/internal/retry"
)

const (
	apiVersion = "2022-11-28"
	perPage    = 100
	maxPages   = 30
	maxAnswer  = 32 << 20 // bytes: enough for 100 texts of 65,536 characters
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

// Workflow returns the access of a workflow of GitHub Actions, from its environment. Elsewhere, it is
// incomplete.
func Workflow(getenv func(string) string, client *http.Client) Config {
	return Config{HTTP: client, APIURL: cmp.Or(getenv("GITHUB_API_URL"), "https://api.github.com"), ServerURL: cmp.Or(getenv("GITHUB_SERVER_URL"), "https://github.com"),
		Repository: getenv("GITHUB_REPOSITORY"), Token: getenv("GITHUB_TOKEN")}
}

// Client sends requests about one repository. It is safe for concurrent use.
type Client struct {
	http                                     http.Client
	base, graphQL, server, repository, token string
}

// repositoryForm allows the underscore in enterprise account names.
var repositoryForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,38}/[A-Za-z0-9._-]{1,100}$`)

// CheckRepository rejects a name that is not "owner/name".
func CheckRepository(name string) error {
	if !repositoryForm.MatchString(name) || strings.HasSuffix(name, "/.") || strings.HasSuffix(name, "/..") {
		return fmt.Errorf("%q is not a repository: write it as owner/name", name)
	}
	return nil
}

// New returns a client for a valid configuration.
func New(c Config) (*Client, error) {
	base, err := CheckAddress(c.APIURL)
	if err != nil {
		return nil, fmt.Errorf("address of the API: %w", err)
	}
	server, err := CheckAddress(c.ServerURL)
	if err != nil {
		return nil, fmt.Errorf("address of the server: %w", err)
	}
	if err := CheckRepository(c.Repository); err != nil {
		return nil, err
	}
	switch {
	case c.HTTP == nil:
		return nil, errors.New("github: no HTTP client")
	case c.Token == "" || strings.ContainsAny(c.Token, " \r\n\t"):
		return nil, errors.New("the token for the API is missing or malformed")
	}
	client := &Client{http: *c.HTTP, base: base, graphQL: base + "/graphql", server: server, repository: c.Repository, token: c.Token}
	if enterprise, is := strings.CutSuffix(base, "/api/v3"); is {
		client.graphQL = enterprise + "/api/graphql"
	}
	client.http.Transport = retry.Transport{Timing: c.Timing, Next: c.HTTP.Transport, MaxAnswer: maxAnswer, FollowOnHost: true, SecondaryLimits: true}
	return client, nil
}

// CheckAddress returns a server's address without the final slash. An address without TLS is an
// error, because it would expose the token. Loopback is allowed.
func CheckAddress(address string) (string, error) {
	u, err := url.Parse(address)
	switch {
	case err == nil && u.User != nil: // possibly with a password
		return "", errors.New("this is not an address: it contains a user name; write https://api.github.com, and set the token by itself")
	case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("%q is not an address: write it as https://api.github.com", address)
	}
	host := u.Hostname()
	loopback := host == "127.0.0.1" || host == "::1" || host == "localhost"
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback) {
		return "", fmt.Errorf("%q does not use https", address)
	}
	return strings.TrimSuffix(address, "/"), nil
}

// Repository returns "owner/name".
func (c *Client) Repository() string { return c.repository }

// Server returns the address of the web pages, without a final slash.
func (c *Client) Server() string { return c.server }

// Path returns an API path below the repository.
func (c *Client) Path(format string, args ...any) string {
	return "/repos/" + c.repository + fmt.Sprintf(format, args...)
}

// Get reads a page and decodes it. more means that another page follows.
func (c *Client) Get(ctx context.Context, path string, query url.Values, into any) (more bool, err error) {
	header, err := c.do(ctx, call{method: http.MethodGet, path: path, query: query}, into)
	return hasNext(header), err
}

// Send sends a value and decodes the answer. It sends a POST only once: the caller must check its
// effect before a repetition.
func (c *Client) Send(ctx context.Context, method, path string, value, into any) error {
	return c.send(ctx, call{method: method, path: path, once: method == http.MethodPost}, value, into)
}

func (c *Client) send(ctx context.Context, how call, value, into any) (err error) {
	if how.body, err = json.Marshal(value); err == nil {
		_, err = c.do(ctx, how, into)
	}
	return err
}

// call is a request.
type call struct {
	method, path string
	address      string // instead of the address for the path
	query        url.Values
	body         []byte
	once         bool // no retry
}

func (c *Client) do(ctx context.Context, how call, into any) (http.Header, error) {
	method, path := how.method, how.path
	request, err := http.NewRequestWithContext(ctx, method, cmp.Or(how.address, c.base+path), bytes.NewReader(how.body))
	if err != nil {
		return nil, c.hide(err)
	}
	request.URL.RawQuery = how.query.Encode()
	if how.once {
		request.GetBody = nil
	}
	request.Header.Set("Accept", "application/vnd.github+json")
	request.Header.Set("X-GitHub-Api-Version", apiVersion)
	request.Header.Set("User-Agent", "polex")
	request.Header.Set("Authorization", "Bearer "+c.token)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, c.hide(err))
	}
	defer response.Body.Close() //nolint:errcheck // only read
	body, err := io.ReadAll(response.Body)
	done := []int{http.StatusOK, http.StatusCreated, http.StatusNoContent}
	if method == http.MethodGet {
		done = done[:1]
	}
	if err == nil && !slices.Contains(done, response.StatusCode) {
		err = retry.Returned(response.StatusCode, body)
	}
	if err == nil && into != nil {
		if err = json.Unmarshal(body, into); err != nil {
			err = fmt.Errorf("its answer is not one of this API: %w", err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, c.hide(err))
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

// Pages reads the pages in order and calls visit for each, until it returns false or there are no
// more. More than 30 pages are an error.
func Pages[T any](ctx context.Context, c *Client, path string, visit func([]T) (more bool)) error {
	for page := 1; page <= maxPages; page++ {
		var items []T
		more, err := c.Get(ctx, path, url.Values{"per_page": {strconv.Itoa(perPage)}, "page": {strconv.Itoa(page)}}, &items)
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
