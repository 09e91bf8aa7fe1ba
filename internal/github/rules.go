package github

import (
	"context"
	"slices"
)

// Rule is a rule of a branch that the identity of the token cannot bypass.
type Rule struct {
	Type    string `json:"type"` // such as required_signatures
	Ruleset int64  `json:"ruleset_id"`
}

// Rules returns the rules of the given types that apply to a branch. It leaves out the rules that
// the identity of the token may bypass. It does not see the older branch protection rules.
func (c *Client) Rules(ctx context.Context, branch string, types ...string) ([]Rule, error) {
	var found []Rule
	err := Pages(ctx, c, c.Path("/rules/branches/%s", escaped(branch)), func(page []Rule) bool {
		found = append(found, page...)
		return true
	})
	return slices.DeleteFunc(found, func(r Rule) bool { return !slices.Contains(types, r.Type) || c.bypasses(ctx, r) }), err
}

// bypasses reports whether the identity may bypass a rule. Without an answer, it may not.
func (c *Client) bypasses(ctx context.Context, r Rule) bool {
	var set struct {
		Bypass string `json:"current_user_can_bypass"`
	}
	_, err := c.Get(ctx, c.Path("/rulesets/%d", r.Ruleset), nil, &set)
	return err == nil && (set.Bypass == "always" || set.Bypass == "exempt")
}
