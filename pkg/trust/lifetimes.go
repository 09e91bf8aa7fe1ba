package trust

import (
	"errors"
	"fmt"
	"time"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/internal/lifetime"
)

// lifetimeRule is a maximum lifetime for the documents that it matches. A nil selector matches all.
type lifetimeRule struct {
	policies, namespaces names
	kinds                *Kinds
	longest              time.Duration
}

func newLifetimeRule(c LifetimeConfig) (r lifetimeRule, err error) {
	if c.Policies == nil && c.Namespaces == nil && c.Kinds == nil {
		return r, errors.New("it applies to every document: set policies, namespaces or kinds, or use maxLifetime")
	}
	if r.policies, err = newNames("policies", c.Policies, policyForm); err != nil {
		return r, err
	}
	if r.namespaces, err = newNames("namespaces", c.Namespaces, wildcard.NamespaceForm); err != nil {
		return r, err
	}
	if r.kinds, err = newKindsIn(c.Kinds); err != nil {
		return r, err
	}
	if r.longest, err = lifetime.ParseDuration(c.Max); err != nil {
		return r, fmt.Errorf("max: %w", err)
	}
	return r, nil
}

func (r *lifetimeRule) speaksOf(e Scope) bool {
	return (r.policies == nil || e.isFrom(r.policies)) &&
		(r.namespaces == nil || e.standsIn(r.namespaces)) &&
		(r.kinds == nil || r.kinds.Allow(e.kind))
}

// MaxLifetime returns the maximum time from signing to expiry for a document, or 0. ends reports
// whether a rule of lifetimes matches the document: then it needs an expiry.
func (p *Policy) MaxLifetime(e Scope) (longest time.Duration, ends bool) {
	longest = p.maxLifetime
	for i := range p.lifetimes {
		if rule := &p.lifetimes[i]; rule.speaksOf(e) {
			ends = true
			if longest == 0 || rule.longest < longest {
				longest = rule.longest
			}
		}
	}
	return longest, ends
}
