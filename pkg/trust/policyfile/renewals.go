package policyfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
)

// MaxApprovals is the maximum of requireApprovals.
const MaxApprovals = 100

// Renewals restrict exceptions that renew another one; zero sets no limit.
type Renewals struct {
	Max         int
	MaxLifetime time.Duration
	Require     []string
	Approvals   int
	NewApprover bool
}

func newRenewals(c *RenewalsConfig) (r Renewals, err error) {
	if c == nil {
		return r, nil
	}
	if c.MaxLifetime != "" {
		if r.MaxLifetime, err = lifetime.ParseDuration(c.MaxLifetime); err != nil {
			return r, fmt.Errorf("maxLifetime: %w", err)
		}
	}
	known := exception.StatementNames()
	if at := slices.IndexFunc(c.Require, func(name string) bool { return !slices.Contains(known, name) }); at >= 0 {
		return r, fmt.Errorf("require: %q is not one of %s", c.Require[at], strings.Join(known, ", "))
	}
	r.Max, r.Require, r.Approvals, r.NewApprover = c.Max, slices.Clone(
		c.Require), c.RequireApprovals, c.RequireNewApprover
	switch {
	case c.Max < 0 || c.Max > exception.MaxRenewals:
		return r, fmt.Errorf("max: %d is invalid, expected 1 to %d", c.Max, exception.MaxRenewals)
	case r.Approvals < 0 || r.Approvals > MaxApprovals:
		return r, fmt.Errorf("requireApprovals: %d is invalid, expected 1 to %d", r.Approvals, MaxApprovals)
	case c.Require != nil && len(c.Require) == 0:
		return r, errors.New("require: an empty list requires nothing: remove it, or list statements")
	case r.Max == 0 && r.MaxLifetime == 0 && len(r.Require) == 0 && !r.Review():
		return r, errors.New("they limit nothing: leave them out, or set one")
	}
	return r, nil
}

// Review reports whether renewals need further approvals.
func (r *Renewals) Review() bool { return r.Approvals > 0 || r.NewApprover }

// Exceeded names the first limit that a document exceeds and the found value, or returns "". A
// document that renews nothing exceeds none. The lifetime is part of [Rules.MaxLifetime]; the
// statements and a new approver are checked before the signing.
func (r *Renewals) Exceeded(e Scope) string {
	switch {
	case !e.Renews() || r.Max == 0 && r.MaxLifetime == 0 && r.Approvals == 0:
		return ""
	case e.unread != nil:
		return "its reference to the renewed exception cannot be read: " + e.unread.Error()
	case r.Max > 0 && e.renewal.Number > r.Max:
		return fmt.Sprintf("renewals.max is %d, and it is renewal %d", r.Max, e.renewal.Number)
	case e.approvals < r.Approvals:
		return fmt.Sprintf("renewals.requireApprovals is %d, and its record names %d", r.Approvals, e.approvals)
	}
	return ""
}
