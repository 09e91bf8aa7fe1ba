package github

import (
	"context"
	"slices"

	"github.com/polex-dev/polex/internal/retry"
)

// Rule is a rule of a branch that the identity of the token cannot bypass.
type Rule struct {
	Type    string `json:"type"` // such as required_signatures
	Ruleset int64  `json:"ruleset_id"`
}

// Rules returns the rules of the given types that apply to a branch. It leaves out the rules that
// the identity of the token may bypass. It does not see the older branch protection rules.
func (c *Client) Rules(ctx context.Context, branch string, types ...string) ([]Rule, error) {
	var found, asked []Rule
	err := Pages(ctx, c, c.Path("/rules/branches/%s", escaped(branch)), func(page []Rule) bool {
		found = append(found, page...)
		return true
	})
	for _, r := range found {
		if err != nil || !slices.Contains(types, r.Type) {
			continue
		}
		var bypasses bool
		if bypasses, err = c.bypasses(ctx, r); !bypasses {
			asked = append(asked, r)
		}
	}
	return asked, err
}

// bypasses reports whether the identity may bypass a rule. If it may not read the ruleset, it may
// not.
func (c *Client) bypasses(ctx context.Context, r Rule) (bool, error) {
	var set struct {
		Bypass string `json:"current_user_can_bypass"`
	}
	_, err := c.Get(ctx, c.Path("/rulesets/%d", r.Ruleset), nil, &set)
	if retry.Unavailable(err) {
		return false, err
	}
	return err == nil && (set.Bypass == "always" || set.Bypass == "exempt"), nil
}
