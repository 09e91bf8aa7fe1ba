package policyfile

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/pkg/exception"
)

// Limits restrict the documents of an authority; nil or zero sets no limit.
type Limits struct {
	Kinds                          *Kinds
	KindNames                      Names
	Namespaces, Exempted, Policies Names
	MaxLifetime                    time.Duration
	Renewals                       *RenewalLimits
}

func newLimits(c *LimitsConfig) (l Limits, err error) {
	if c == nil {
		return l, nil
	}
	if c.Kinds == nil && c.Namespaces == nil && c.ExemptedNamespaces == nil && c.Policies == nil && c.MaxLifetime == "" && c.Renewals == nil {
		return l, errors.New("they limit nothing: leave them out, or set one")
	}
	l.KindNames = c.Kinds
	if l.Kinds, err = newKindsIn(c.Kinds); err != nil {
		return l, err
	}
	if l.Namespaces, err = newNames("namespaces", c.Namespaces, wildcard.NamespaceForm); err != nil {
		return l, err
	}
	if l.Exempted, err = newNames("exemptedNamespaces", c.ExemptedNamespaces, wildcard.NamespaceForm); err != nil {
		return l, err
	}
	if l.Policies, err = newNames("policies", c.Policies, policyForm); err != nil {
		return l, err
	}
	if c.MaxLifetime != "" {
		if l.MaxLifetime, err = lifetime.ParseDuration(c.MaxLifetime); err != nil {
			return l, fmt.Errorf("maxLifetime: %w", err)
		}
	}
	if l.Renewals, err = newRenewalLimits(c.Renewals); err != nil {
		return l, fmt.Errorf("renewals: %w", err)
	}
	return l, nil
}

// Measures reports whether a limit needs the signing time.
func (l *Limits) Measures() bool {
	return l.MaxLifetime > 0 || l.Renewals != nil && l.Renewals.MaxLifetime > 0
}

// check returns an error for limits that exclude all accepted kinds of the policy.
func (l *Limits) check(spoken Kinds) error {
	if l.Kinds != nil && !l.Kinds.meet(spoken) {
		return fmt.Errorf("limits: the kinds %s are not in the trust policy (kinds)", l.KindNames)
	}
	allows := func(gk exception.GroupKind) bool { return spoken.Allow(gk) && (l.Kinds == nil || l.Kinds.Allow(gk)) }
	switch {
	case l.Exempted != nil && !allows(kyverno.MatchKind):
		return fmt.Errorf("limits: exemptedNamespaces are of %s, which is not among the kinds", kyverno.MatchKind)
	case l.Policies != nil && !slices.ContainsFunc(kyverno.Kinds(), allows):
		return errors.New("limits: policies are of exceptions, which are not among the kinds")
	case l.Renewals != nil && !slices.ContainsFunc(kyverno.Kinds(), allows):
		return errors.New("limits: renewals are of exceptions, which are not among the kinds")
	}
	return nil
}

// maxApprovals is the maximum of requireApprovals.
const maxApprovals = 100

// RenewalLimits restrict the renewals of an authority; zero sets no limit.
type RenewalLimits struct {
	Forbid      bool
	Max         int
	MaxLifetime time.Duration
	Approvals   int
}

func newRenewalLimits(c *RenewalLimitsConfig) (*RenewalLimits, error) {
	if c == nil {
		return nil, nil
	}
	l := &RenewalLimits{Forbid: c.Forbid, Max: c.Max, Approvals: c.RequireApprovals}
	switch {
	case *c == RenewalLimitsConfig{}:
		return nil, errors.New("they limit nothing: leave them out, or set one")
	case c.Forbid && *c != RenewalLimitsConfig{Forbid: true}:
		return nil, errors.New("forbid permits no renewal, so remove the other limits")
	case c.Max < 0 || c.Max > exception.MaxRenewals:
		return nil, fmt.Errorf("max: %d is invalid, expected 1 to %d", c.Max, exception.MaxRenewals)
	case c.RequireApprovals < 0 || c.RequireApprovals > maxApprovals:
		return nil, fmt.Errorf("requireApprovals: %d is invalid, expected 1 to %d", c.RequireApprovals, maxApprovals)
	}
	if c.MaxLifetime != "" {
		var err error
		if l.MaxLifetime, err = lifetime.ParseDuration(c.MaxLifetime); err != nil {
			return nil, fmt.Errorf("maxLifetime: %w", err)
		}
	}
	return l, nil
}
