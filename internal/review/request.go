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

	"github.com/polex-dev/polex/internal/retry"
)

// get asks for one page and decodes it. more says that another follows.
func (a *api) get(ctx context.Context, path string, query url.Values, into any) (more bool, err error) {
	address := a.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false, err
	}
	request.Header.Set("Accept", "application/vnd.github+json")
	request.Header.Set("X-GitHub-Api-Version", apiVersion)
	request.Header.Set("User-Agent", "polex")
	request.Header.Set("Authorization", "Bearer "+a.token)
	response, err := a.client.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close() //nolint:errcheck // only read
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = retry.Returned(response.StatusCode, body)
	}
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		return false, fmt.Errorf("GET %s: %w", path, err)
	}
	return hasNext(response.Header), nil
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

// hasNext reports whether the answer names a next page. Its address is not used.
func hasNext(header http.Header) bool {
	for _, link := range header.Values("Link") {
		if strings.Contains(link, `rel="next"`) {
			return true
		}
	}
	return false
}
