package gitlab

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/restapi"
	"github.com/polex-dev/polex/internal/retry"
)

// MaxCommit is the maximum size of a commit through the API, in bytes of the request. GitLab.com
// accepts larger ones only a few times a minute.
const MaxCommit = 20 << 20

// Config configures the access to the API.
type Config struct {
	HTTP   *http.Client // see [restapi.Config]
	Timing retry.Timing
	APIURL string // such as https://gitlab.com/api/v4
	// Project is the project's number.
	Project string
	Token   string
}

// Pipeline returns the access of a pipeline of GitLab, from its environment. Elsewhere, it is
// incomplete. GitLab does not accept the token of a job here.
func Pipeline(getenv func(string) string, client *http.Client) Config {
	return Config{HTTP: client, APIURL: getenv("CI_API_V4_URL"), Project: getenv("CI_PROJECT_ID"), Token: getenv("GITLAB_TOKEN")}
}

// Client sends requests about one project. It is safe for concurrent use.
type Client struct {
	api  *restapi.Client
	path string // of the project's repository
}

var projectForm = regexp.MustCompile(`^[1-9][0-9]{0,18}$`)

// New returns a client for a valid configuration.
func New(c Config) (*Client, error) {
	if !projectForm.MatchString(c.Project) {
		return nil, fmt.Errorf("%q is not the number of a project", c.Project)
	}
	api, err := restapi.New(restapi.Config{HTTP: c.HTTP, Timing: c.Timing, URL: c.APIURL, Token: c.Token, Header: map[string]string{"PRIVATE-TOKEN": c.Token}})
	return &Client{api: api, path: "/projects/" + c.Project + "/repository"}, err
}

func (c *Client) branch(name string) string { return c.path + "/branches/" + url.PathEscape(name) }

// CreateBranch creates a branch at a commit. A branch that is at this commit already is no error,
// because the first answer may be lost.
func (c *Client) CreateBranch(ctx context.Context, branch, commit string) error {
	_, err := c.api.Do(ctx, restapi.Call{Method: http.MethodPost, Path: c.path + "/branches", Value: map[string]string{"branch": branch, "ref": commit}}, nil)
	if err == nil {
		return nil
	}
	var there struct{ Commit struct{ ID string } }
	if _, readErr := c.api.Do(ctx, restapi.Call{Method: http.MethodGet, Path: c.branch(branch)}, &there); readErr == nil && there.Commit.ID == commit {
		return nil
	}
	return err
}

// CommitOnBranch makes GitLab commit on a branch. It sends the request once: after a lost answer,
// the branch shows whether the commit exists. GitLab does not compare the branch with base.
func (c *Client) CommitOnBranch(ctx context.Context, branch, _, message string, create, update map[string][]byte, remove []string) error {
	_, err := c.api.Do(ctx, restapi.Call{Method: http.MethodPost, Path: c.path + "/commits", Once: true, Value: commitRequest(branch, message, create, update, remove)}, nil)
	return err
}

// CheckCommit rejects a change that is too large for [Client.CommitOnBranch].
func (c *Client) CheckCommit(message string, create, update map[string][]byte, remove []string) error {
	raw, err := json.Marshal(commitRequest("", message, create, update, remove))
	if err == nil && len(raw) > MaxCommit {
		err = fmt.Errorf("the commit needs a request of %d MiB, and the limit for GitLab's API is %d MiB", len(raw)>>20, MaxCommit>>20)
	}
	return err
}

func commitRequest(branch, message string, create, update map[string][]byte, remove []string) any {
	type object = map[string]any
	actions := []object{}
	add := func(action string, files map[string][]byte) {
		for _, path := range slices.Sorted(maps.Keys(files)) {
			actions = append(actions, object{"action": action, "file_path": path, "encoding": "base64", "content": base64.StdEncoding.EncodeToString(files[path])})
		}
	}
	add("create", create)
	add("update", update)
	for _, path := range remove {
		actions = append(actions, object{"action": "delete", "file_path": path})
	}
	return object{"branch": branch, "commit_message": strings.TrimRight(message, "\n"), "actions": actions}
}

// DeleteBranch deletes a branch. A branch that does not exist is no error.
func (c *Client) DeleteBranch(ctx context.Context, branch string) error {
	_, err := c.api.Do(ctx, restapi.Call{Method: http.MethodDelete, Path: c.branch(branch)}, nil)
	var answered *retry.StatusError
	if errors.As(err, &answered) && answered.Status == http.StatusNotFound {
		return nil
	}
	return err
}
