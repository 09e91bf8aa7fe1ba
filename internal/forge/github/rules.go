package github

import (
	"context"

	"github.com/polex-dev/polex/internal/forge"
	"github.com/polex-dev/polex/internal/retry"
)

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
