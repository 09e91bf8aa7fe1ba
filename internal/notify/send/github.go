package send

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/polex-dev/polex/internal/retry"
)

// DefaultLogin is the account that GitHub's workflows write as.
const DefaultLogin = "github-actions[bot]"

const (
	apiVersion = "2022-11-28"
	maxAnswer  = 32 << 20 // bytes: 100 comments of 65,536 characters fit in
)

// GitHubConfig says how GitHub's REST API is reached.
type GitHubConfig struct {
	Client   *http.Client
	Patience retry.Timing
	// APIURL is the API's address, such as https://api.github.com, and ServerURL
	// that of the pages, such as https://github.com.
	APIURL, ServerURL string
	// Repository is "owner/name". Nothing outside of it is written to.
	Repository string
	// Token may write to pull requests. It is sent to the API's host and nowhere else.
	Token string
	// Login is the account that the token writes as; "" means [DefaultLogin].
	Login string
}

// GitHub is a repository on GitHub whose pull requests are commented on.
type GitHub struct {
	client              http.Client
	base, server, token string
	repository, login   string
}

var (
	repositoryForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}/[A-Za-z0-9._-]{1,100}$`)
	commitForm     = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	numberForm     = regexp.MustCompile(`^[1-9][0-9]{0,8}$`)
)

// NewGitHub checks a configuration.
func NewGitHub(c GitHubConfig) (*GitHub, error) {
	if c.Client == nil {
		return nil, errors.New("post: no HTTP client")
	}
	for _, address := range []string{c.APIURL, c.ServerURL} {
		u, err := checkAddress(address)
		if err == nil && u.RawQuery != "" {
			err = errors.New("it is no address of a server")
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", address, err)
		}
	}
	_, name, _ := strings.Cut(c.Repository, "/")
	switch {
	case !repositoryForm.MatchString(c.Repository) || name == "." || name == "..":
		return nil, fmt.Errorf("%q is no repository: it is written as owner/name", c.Repository)
	case c.Token == "" || strings.ContainsAny(c.Token, " \r\n\t"):
		return nil, errors.New("there is no token for the API, or it is none")
	}
	if c.Login == "" {
		c.Login = DefaultLogin
	}
	g := &GitHub{client: *c.Client, base: strings.TrimSuffix(c.APIURL, "/") + "/repos/" + c.Repository, token: c.Token, server: c.ServerURL, repository: c.Repository, login: c.Login}
	g.client.Transport = retry.Transport{Timing: c.Patience, Next: c.Client.Transport, MaxAnswer: maxAnswer, SecondaryLimits: true}
	return g, nil
}

// NumberOf returns the number of a pull request of this very repository, by its
// address.
func (g *GitHub) NumberOf(address string) (int, bool) {
	return NumberOf(g.server, g.repository, address)
}

// NumberOf returns the number of a pull request of a repository, "owner/name" on the
// server of an address such as https://github.com, by the pull request's address.
func NumberOf(server, repository, address string) (int, bool) {
	text, ok := strings.CutPrefix(address, strings.TrimSuffix(server, "/")+"/"+repository+"/pull/")
	if !ok || !numberForm.MatchString(text) {
		return 0, false
	}
	number, err := strconv.Atoi(text)
	return number, err == nil
}

// PullRequestOf returns the number of the one pull request that was merged as, or
// with, a commit.
func (g *GitHub) PullRequestOf(ctx context.Context, commit string) (int, error) {
	if !commitForm.MatchString(commit) {
		return 0, fmt.Errorf("%q is no whole hash of a commit", commit)
	}
	var pulls []struct {
		Number   int
		MergedAt string `json:"merged_at"`
		Base     struct {
			Repo struct {
				FullName string `json:"full_name"`
			}
		}
	}
	if err := g.ask(ctx, http.MethodGet, "/commits/"+commit+"/pulls", nil, &pulls); err != nil {
		return 0, fmt.Errorf("ask for the pull request of %s: %w", commit, err)
	}
	number := 0
	for _, p := range pulls {
		if p.MergedAt == "" || !strings.EqualFold(p.Base.Repo.FullName, g.repository) {
			continue
		}
		if number != 0 {
			return 0, fmt.Errorf("commit %s is of several pull requests", commit)
		}
		number = p.Number
	}
	if number <= 0 {
		return 0, fmt.Errorf("commit %s is of no pull request that was merged", commit)
	}
	return number, nil
}

// ask sends a request and reads the answer into a value.
func (g *GitHub) ask(ctx context.Context, method, path string, send, into any) error {
	var body io.Reader
	if send != nil {
		raw, err := json.Marshal(send)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	request, err := http.NewRequestWithContext(ctx, method, g.base+path, body)
	if err != nil {
		return hide(err, true, g.token)
	}
	if method == http.MethodPost {
		// What may have been done is not asked for again before somebody has looked.
		request.GetBody = nil
	}
	request.Header.Set("Accept", "application/vnd.github+json")
	request.Header.Set("Authorization", "Bearer "+g.token)
	request.Header.Set("User-Agent", "polex")
	request.Header.Set("X-GitHub-Api-Version", apiVersion)
	response, err := g.client.Do(request)
	if err != nil {
		return hide(err, true, g.token)
	}
	defer response.Body.Close() //nolint:errcheck // only read
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return hide(err, true, g.token)
	}
	if response.StatusCode/100 != http.StatusOK/100 {
		return hide(retry.Returned(response.StatusCode, raw), true, g.token)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return errors.New("it returned something that is no answer of this API")
	}
	return nil
}
