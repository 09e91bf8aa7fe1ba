package trust

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

// limits restrict the documents of an authority; nil or zero sets no limit.
type limits struct {
	kinds                          *Kinds
	kindNames                      names
	namespaces, exempted, policies names
	maxLifetime                    time.Duration
	renewals                       *renewalLimits
}

func newLimits(c *LimitsConfig) (l limits, err error) {
	if c == nil {
		return l, nil
	}
	if c.Kinds == nil && c.Namespaces == nil && c.ExemptedNamespaces == nil && c.Policies == nil && c.MaxLifetime == "" && c.Renewals == nil {
		return l, errors.New("they limit nothing: leave them out, or set one")
	}
	l.kindNames = c.Kinds
	if l.kinds, err = newKindsIn(c.Kinds); err != nil {
		return l, err
	}
	if l.namespaces, err = newNames("namespaces", c.Namespaces, wildcard.NamespaceForm); err != nil {
		return l, err
	}
	if l.exempted, err = newNames("exemptedNamespaces", c.ExemptedNamespaces, wildcard.NamespaceForm); err != nil {
		return l, err
	}
	if l.policies, err = newNames("policies", c.Policies, policyForm); err != nil {
		return l, err
	}
	if c.MaxLifetime != "" {
		if l.maxLifetime, err = lifetime.ParseDuration(c.MaxLifetime); err != nil {
			return l, fmt.Errorf("maxLifetime: %w", err)
		}
	}
	if l.renewals, err = newRenewalLimits(c.Renewals); err != nil {
		return l, fmt.Errorf("renewals: %w", err)
	}
	return l, nil
}

// measures reports whether a limit needs the signing time.
func (l *limits) measures() bool {
	return l.maxLifetime > 0 || l.renewals != nil && l.renewals.maxLifetime > 0
}

// check returns an error for limits that exclude all accepted kinds of the policy.
func (l *limits) check(spoken Kinds) error {
	if l.kinds != nil && !l.kinds.meet(spoken) {
		return fmt.Errorf("limits: the kinds %s are not in the trust policy (kinds)", l.kindNames)
	}
	allows := func(gk exception.GroupKind) bool { return spoken.Allow(gk) && (l.kinds == nil || l.kinds.Allow(gk)) }
	switch {
	case l.exempted != nil && !allows(kyverno.MatchKind):
		return fmt.Errorf("limits: exemptedNamespaces are of %s, which is not among the kinds", kyverno.MatchKind)
	case l.policies != nil && !slices.ContainsFunc(kyverno.Kinds(), allows):
		return errors.New("limits: policies are of exceptions, which are not among the kinds")
	case l.renewals != nil && !slices.ContainsFunc(kyverno.Kinds(), allows):
		return errors.New("limits: renewals are of exceptions, which are not among the kinds")
	}
	return nil
}

// Within reports whether a document meets the limits of the authority. signed is the signing time,
// or zero if it is unknown. If the document exceeds a limit, why names the limit and the found
// value.
func (a *Authority) Within(e Scope, signed time.Time) (is bool, why string) {
	l := &a.limits
	if l.kinds != nil && !l.kinds.Allow(e.kind) {
		return false, fmt.Sprintf("limits.kinds are %s, and it is a %q", l.kindNames, e.kind.String())
	}
	if l.namespaces != nil && !l.namespaces.Include(e.namespace) {
		return false, fmt.Sprintf("limits.namespaces are %s, and it is in %q", l.namespaces, e.namespace)
	}
	if l.policies != nil {
		if found := e.beyondPolicies(l.policies); found != "" {
			return false, fmt.Sprintf("limits.policies are %s, and %s", l.policies, found)
		}
	}
	if l.exempted != nil {
		if found := e.beyondExempted(l.exempted); found != "" {
			return false, fmt.Sprintf("limits.exemptedNamespaces are %s, and %s", l.exempted, found)
		}
	}
	if l.maxLifetime > 0 {
		if found := e.beyondLifetime(l.maxLifetime, signed); found != "" {
			return false, fmt.Sprintf("limits.maxLifetime is %s, and %s", lifetime.FormatDuration(l.maxLifetime), found)
		}
	}
	if l.renewals != nil {
		if found := e.beyondRenewals(l.renewals, signed); found != "" {
			return false, found
		}
	}
	return true, ""
}

func (e *Scope) beyondLifetime(longest time.Duration, signed time.Time) string {
	switch {
	case e.unread != nil:
		return "its times cannot be read: " + e.unread.Error()
	case e.expiresAt.IsZero():
		return "it never expires"
	case signed.IsZero():
		return "its signing time is not proven, or only by evidence that can be recreated later"
	case e.expiresAt.Sub(signed) > longest:
		return fmt.Sprintf("it was signed at %s until %s", signed.UTC().Format(time.RFC3339), e.expiresAt.UTC().Format(time.RFC3339))
	}
	return ""
}
