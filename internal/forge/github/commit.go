package github

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/forge"
	"github.com/polex-dev/polex/internal/retry"
)

// MaxCommit is the maximum size of a commit through the API, in bytes of the request. GitHub
// documents no limit; it answers requests above about 40 MiB with an error or a timeout.
const MaxCommit = 40 << 20

const createCommit = `mutation($input: CreateCommitOnBranchInput!) { createCommitOnBranch(input: $input) { commit { oid } } }`

// escaped returns the name of a branch for an API path.
func escaped(branch string) string { return strings.ReplaceAll(url.PathEscape(branch), "%2F", "/") }

// CreateBranch implements [forge.Commits]. The first answer may be lost.
func (c *Client) CreateBranch(ctx context.Context, branch, commit string) error {
	_, err := c.do(ctx, call{method: http.MethodPost, path: c.path("/git/refs"),
		value: map[string]string{"ref": "refs/heads/" + branch, "sha": commit}}, nil)
	if err == nil {
		return nil
	}
	var there struct {
		Object struct{ SHA string }
	}
	if _, readErr := c.get(ctx, c.path("/git/ref/heads/%s", escaped(branch)), nil, &there); readErr == nil &&
		there.Object.SHA == commit {
		return nil
	}
	return err
}

// ForwardBranch implements [forge.Commits].
func (c *Client) ForwardBranch(ctx context.Context, branch, commit string) error {
	return c.send(ctx, http.MethodPatch, c.path("/git/refs/heads/%s", escaped(branch)),
		map[string]any{"sha": commit, "force": false}, nil)
}

// DeleteBranch implements [forge.Commits].
func (c *Client) DeleteBranch(ctx context.Context, branch string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete,
		path: c.path("/git/refs/heads/%s", escaped(branch))}, nil)
	if err == nil {
		return nil
	}
	var answered *retry.StatusError
	_, readErr := c.get(ctx, c.path("/git/ref/heads/%s", escaped(branch)), nil, nil)
	if errors.As(readErr, &answered) && answered.Status == http.StatusNotFound {
		return nil
	}
	return err
}

// CommitOnBranch implements [forge.Commits]. After a lost answer, the retry fails because the branch has
// left base.
func (c *Client) CommitOnBranch(ctx context.Context, branch, base, message string, write map[string][]byte,
	remove []string) error {
	var answer struct {
		Errors []struct{ Message string }
	}
	_, err := c.do(ctx, call{method: http.MethodPost, path: graphQL,
		value: c.commitRequest(branch, base, message, write, remove)}, &answer)
	if err == nil && len(answer.Errors) > 0 {
		err = c.hide(fmt.Errorf("createCommitOnBranch: %.512s", answer.Errors[0].Message))
	}
	return err
}

// CheckCommit implements [forge.Commits]: it rejects a change that is too large.
func (c *Client) CheckCommit(message string, write map[string][]byte, remove []string) error {
	raw, err := json.Marshal(c.commitRequest("", "", message, write, remove))
	if err == nil && len(raw) > MaxCommit {
		err = fmt.Errorf("the commit needs a request of %d MiB, and the limit for GitHub's API is %d MiB", len(raw)>>20,
			MaxCommit>>20)
	}
	return err
}

func (c *Client) commitRequest(branch, base, message string, write map[string][]byte, remove []string) any {
	type object = map[string]any
	additions, deletions := []object{}, []object{}
	for _, path := range slices.Sorted(maps.Keys(write)) {
		additions = append(additions, object{"path": path, "contents": base64.StdEncoding.EncodeToString(write[path])})
	}
	for _, path := range remove {
		deletions = append(deletions, object{"path": path})
	}
	headline, body, _ := strings.Cut(strings.TrimRight(message, "\n"), "\n\n")
	return object{"query": createCommit, "variables": object{"input": object{
		"branch":          object{"repositoryNameWithOwner": c.repository, "branchName": branch},
		"expectedHeadOid": base,
		"message":         object{"headline": headline, "body": body},
		"fileChanges":     object{"additions": additions, "deletions": deletions},
	}}}
}

// rule is a rule of a branch.
type rule struct {
	Type    string
	Ruleset int64 `json:"ruleset_id"`
}

// Rejecting implements [forge.Rules]. It does not see the older branch protection rules. Other rules,
// such as required_linear_history, do not reject the commit.
func (c *Client) Rejecting(ctx context.Context, branch string, change forge.Change) (broken []forge.Rule, err error) {
	ends := map[string]bool{"required_signatures": change.Signed, "pull_request": change.Proposed,
		"merge_queue": change.Proposed}
	var found []rule
	err = pages(ctx, c, c.path("/rules/branches/%s", escaped(branch)), func(page []rule) bool {
		found = append(found, page...)
		return true
	})
	for _, r := range found {
		if keeps, rejects := ends[r.Type]; err != nil || keeps || !rejects {
			continue
		}
		var bypasses bool
		if bypasses, err = c.bypasses(ctx, r); !bypasses {
			broken = append(broken, forge.Rule{Name: r.Type, Signature: r.Type == "required_signatures"})
		}
	}
	return broken, err
}

// bypasses reports whether the identity may bypass a rule. If it may not read the ruleset, it may
// not.
func (c *Client) bypasses(ctx context.Context, r rule) (bool, error) {
	var set struct {
		Bypass string `json:"current_user_can_bypass"`
	}
	_, err := c.get(ctx, c.path("/rulesets/%d", r.Ruleset), nil, &set)
	if retry.Unavailable(err) {
		return false, err
	}
	return err == nil && (set.Bypass == "always" || set.Bypass == "exempt"), nil
}
