package review

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// answerError is an answer other than the one that was asked for.
type answerError struct {
	Path   string
	Status int
	Said   string // by the server, untrusted
}

// Error returns the status and what the server said.
func (e *answerError) Error() string {
	return fmt.Sprintf("GET %s: it returned %d: %q", e.Path, e.Status, e.Said)
}

// get asks for one page and decodes it. more says that another follows.
func (a *api) get(ctx context.Context, path string, query url.Values, into any) (more bool, err error) {
	address := a.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	answer, err := a.patiently(ctx, path, address)
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(answer.body, into); err != nil {
		return false, fmt.Errorf("GET %s: %w", path, err)
	}
	return answer.more, nil
}

// pages asks for every page and calls visit with what is on each.
func pages[T any](ctx context.Context, a *api, path string, visit func([]T)) error {
	for page := 1; page <= maxPages; page++ {
		var items []T
		more, err := a.get(ctx, path, url.Values{"per_page": {strconv.Itoa(perPage)}, "page": {strconv.Itoa(page)}}, &items)
		if err != nil {
			return err
		}
		visit(items)
		// A later page may hold what takes an approval away, so the server's word
		// that there is none counts only beside a page that is not full.
		if !more && len(items) < perPage {
			return nil
		}
	}
	return &UnknownError{What: fmt.Sprintf("GET %s: there are more than %d pages", path, maxPages)}
}

// answer is what came back for a request.
type answer struct {
	body   []byte
	more   bool
	status int
	header http.Header
}

// once sends one request.
func (a *api) once(ctx context.Context, path, address string) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/vnd.github+json")
	request.Header.Set("X-GitHub-Api-Version", apiVersion)
	request.Header.Set("User-Agent", "polex")
	request.Header.Set("Authorization", "Bearer "+a.token)
	response, err := a.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // only read
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", path, err)
	}
	if len(body) > maxAnswer {
		return nil, &UnknownError{What: fmt.Sprintf("GET %s: the answer is longer than %d bytes", path, maxAnswer)}
	}
	return &answer{body: body, status: response.StatusCode, header: response.Header, more: hasNext(response.Header)}, nil
}

// hasNext reports whether the answer names a next page. Its address is not used.
func hasNext(header http.Header) bool {
	for _, link := range header.Values("Link") {
		if strings.Contains(link, `rel="next"`) {
			return true
		}
	}
	return false
}

// said is what a server says about its failure, in a few words.
func said(body []byte) string {
	var failure struct {
		Message string `json:"message"`
	}
	text := string(body)
	if json.Unmarshal(body, &failure) == nil && failure.Message != "" {
		text = failure.Message
	}
	if len(text) > 200 {
		text = text[:200]
	}
	return strings.ToValidUTF8(text, "?")
}
