package review

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/polex-dev/polex/internal/retry"
)

// Bounds of what is asked of the API.
const (
	maxPages   = 30
	perPage    = 30
	maxAnswer  = 8 << 20 // bytes: 30 texts of 65,536 characters fit in
	apiVersion = "2022-11-28"
)

// GitHub is how GitHub's REST API is reached.
type GitHub struct {
	// Client sends the requests. Whatever it follows, nothing is followed to
	// another host.
	Client *http.Client
	// Patience says how long the API is waited for.
	Patience retry.Timing
	// APIURL is the API's address, such as https://api.github.com, and ServerURL
	// that of the pages, such as https://github.com. Both are reached by https,
	// but for loopback.
	APIURL, ServerURL string
	// Repository is "owner/name".
	Repository string
	// Token is sent to the API's host and nowhere else.
	Token string
}

// api is a GitHub that was checked.
type api struct {
	client     http.Client
	base       string // without a slash at its end
	server     string // likewise
	repository string
	token      string
}

func newAPI(g GitHub) (*api, error) {
	base, err := checkAddress(g.APIURL)
	if err != nil {
		return nil, fmt.Errorf("address of the API: %w", err)
	}
	server, err := checkAddress(g.ServerURL)
	if err != nil {
		return nil, fmt.Errorf("address of the server: %w", err)
	}
	switch {
	case g.Client == nil:
		return nil, errors.New("review: no HTTP client")
	case !repositoryForm.MatchString(g.Repository) || strings.HasSuffix(g.Repository, "/.") || strings.HasSuffix(g.Repository, "/.."):
		return nil, fmt.Errorf("%q is no repository: it is written as owner/name", g.Repository)
	case g.Token == "" || strings.ContainsAny(g.Token, " \r\n\t"):
		return nil, errors.New("there is no token for the API, or it is none")
	}
	a := &api{client: *g.Client, base: base, server: server, repository: g.Repository, token: g.Token}
	a.client.Transport = retry.Transport{Timing: g.Patience, Next: g.Client.Transport, MaxAnswer: maxAnswer, FollowOnHost: true, SecondaryLimits: true}
	return a, nil
}

// checkAddress returns an address without the slash at its end. One that would
// send the token over an open line is an error; loopback is not one.
func checkAddress(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("%q is no address", address)
	}
	host := u.Hostname()
	loopback := host == "127.0.0.1" || host == "::1" || host == "localhost"
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback) {
		return "", fmt.Errorf("%q is not reached by https", address)
	}
	return strings.TrimSuffix(address, "/"), nil
}
