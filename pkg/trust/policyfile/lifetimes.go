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

// Lifetime is a maximum lifetime for the documents that it matches. A nil selector matches all.
type Lifetime struct {
	// Authorities are the signers whose signatures the rule is about; none means all signers.
	Authorities Names

	Documents Limits // that it matches

	Max time.Duration
}

func (r *Rules) newLifetime(c LifetimeConfig) (l Lifetime, err error) {
	if c.Authorities == nil && c.none() {
		return l, errors.New("it applies to every document: set authorities, policies, namespaces, " +
			"exemptedNamespaces or kinds, or use maxLifetime")
	}
	if l.Documents, err = newLimits(c.Selectors); err != nil {
		return l, err
	}
	if l.Max, err = lifetime.ParseDuration(c.Max); err != nil {
		return l, fmt.Errorf("max: %w", err)
	}
	if c.Authorities != nil && len(c.Authorities) == 0 {
		return l, fmt.Errorf("authorities: %w", errNothing)
	}
	for _, name := range c.Authorities {
		if !r.has(name) {
			return l, fmt.Errorf("authorities: there is no authority called %q", name)
		}
	}
	l.Authorities = slices.Clone(c.Authorities)
	return l, nil
}

func (r *Lifetime) matches(e Scope) bool {
	of := &r.Documents
	return (of.Policies == nil || e.isFrom(of.Policies)) &&
		(of.Namespaces == nil || e.standsIn(of.Namespaces)) &&
		(of.Exempted == nil || e.mayExempt(of.Exempted)) &&
		(of.Kinds == nil || of.Kinds.Allow(e.kind))
}

// Maximum is the longest lifetime of one document, from its signing to its expiry.
type Maximum struct {
	Duration time.Duration // zero means any
	Setting  string        // the key that it is from
	// Ends means that a rule of lifetimes or the maximum of renewals applies, so the document needs an expiry.
	Ends bool
}

// MaxLifetime returns the shortest of the maxima that apply to a document, for every signer.
func (r *Rules) MaxLifetime(e Scope) Maximum {
	m := Maximum{Duration: r.Longest, Setting: "maxLifetime"}
	shorten := func(most time.Duration, setting string) {
		if m.Duration == 0 || most < m.Duration {
			m.Duration, m.Setting = most, setting
		}
	}
	if e.Renews() && r.Renewals.MaxLifetime > 0 {
		m.Ends = true
		shorten(r.Renewals.MaxLifetime, "renewals.maxLifetime")
	}
	for i, rule := range r.Lifetimes {
		if rule.Authorities == nil && rule.matches(e) {
			m.Ends = true
			shorten(rule.Max, fmt.Sprintf("rule %d of lifetimes", i+1))
		}
	}
	return m
}

// Outlasts says how a document exceeds a rule of lifetimes about one authority, or returns "". signed is
// the time of the authority's own signature, or zero if it is unknown.
func (r *Rules) Outlasts(authority string, e Scope, signed time.Time) string {
	for i, rule := range r.Lifetimes {
		if !slices.Contains(rule.Authorities, authority) || !rule.matches(e) {
			continue
		}
		if excess := e.outlasts(rule.Max, signed); excess != "" {
			return fmt.Sprintf("rule %d of lifetimes allows %q at most %s, and %s", i+1, authority,
				lifetime.FormatDuration(rule.Max), excess)
		}
	}
	return ""
}

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
