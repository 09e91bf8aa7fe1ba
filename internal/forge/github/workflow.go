package github

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/polex-dev/polex/internal/forge"
	"github.com/polex-dev/polex/internal/retry"
)

// Name is the name of this forge in flags.
const Name = "github"

// Workflow is a workflow of GitHub Actions. It returns an environment variable.
type Workflow func(name string) string

var _ forge.Workflow = Workflow(nil)

// Running implements [forge.Workflow].
func (w Workflow) Running() bool { return w("GITHUB_ACTIONS") == "true" }

// Branch implements [forge.Workflow].
func (w Workflow) Branch() string {
	branch, is := strings.CutPrefix(w("GITHUB_REF"), "refs/heads/")
	if !is {
		return ""
	}
	return branch
}

// Complete implements [forge.Workflow].
func (w Workflow) Complete() error {
	return cmp.Or(w.needs("GITHUB_TOKEN"), w.needs("GITHUB_REPOSITORY"))
}

func (w Workflow) needs(name string) error {
	if w(name) != "" {
		return nil
	}
	return advised{fmt.Errorf("%s is not set", name), "in GitHub Actions, give the step env: GITHUB_TOKEN: " +
		"${{ github.token }} and the job pull-requests: read, or contents: write to commit; elsewhere see " +
		"docs/explanation/approvals.md"}
}

func (w Workflow) server() string {
	return strings.TrimSuffix(cmp.Or(w("GITHUB_SERVER_URL"), "https://github.com"), "/")
}

// Open implements [forge.Workflow].
func (w Workflow) Open(token string, timing retry.Timing) (forge.Forge, error) {
	return New(Config{HTTP: &http.Client{}, Timing: timing,
		APIURL: cmp.Or(w("GITHUB_API_URL"), "https://api.github.com"), ServerURL: w.server(),
		Repository: w("GITHUB_REPOSITORY"), Token: cmp.Or(token, w("GITHUB_TOKEN"))})
}

// EventFile implements [forge.Workflow].
func (w Workflow) EventFile() (string, error) {
	return w("GITHUB_EVENT_PATH"), cmp.Or(w.needs("GITHUB_EVENT_PATH"), w.needs("GITHUB_REPOSITORY"))
}

// Event implements [forge.Workflow]. The payload is that of a push or of a closed pull request. A push
// names the person who merged, not the requester, so only the pull request is used.
func (w Workflow) Event(payload []byte) (*forge.PullRequest, error) {
	if err := retry.CheckAddress(w.server()); err != nil {
		return nil, fmt.Errorf("address of the server: %w", err)
	}
	if err := checkRepository(w("GITHUB_REPOSITORY")); err != nil {
		return nil, err
	}
	var event struct {
		Action string
		Pull   *pull `json:"pull_request"`
	}
	if len(payload) > forge.MaxEvent {
		return nil, fmt.Errorf("the event is longer than %d bytes", forge.MaxEvent)
	}
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, fmt.Errorf("read event: %w", err)
	}
	if event.Pull == nil || event.Action != "closed" || !event.Pull.Merged {
		return nil, nil
	}
	return event.Pull.merged(w.server(), w("GITHUB_REPOSITORY"))
}

var numberForm = regexp.MustCompile(`^[1-9][0-9]{0,8}$`)

// NumberOf implements [forge.Workflow].
func (w Workflow) NumberOf(address string) (int, bool) {
	text, ok := strings.CutPrefix(address, w.server()+"/"+w("GITHUB_REPOSITORY")+"/pull/")
	if !ok || !numberForm.MatchString(text) {
		return 0, false
	}
	number, err := strconv.Atoi(text)
	return number, err == nil
}
