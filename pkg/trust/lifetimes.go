package trust

import (
	"time"

	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

func (e Scope) matches(r policyfile.Lifetime) bool {
	return (r.Policies == nil || e.isFrom(r.Policies)) &&
		(r.Namespaces == nil || e.standsIn(r.Namespaces)) &&
		(r.Kinds == nil || r.Kinds.Allow(e.kind))
}

// MaxLifetime returns the maximum time from signing to expiry for a document, or 0. ends reports
// whether a rule of lifetimes matches the document: then it needs an expiry.
func (p *Policy) MaxLifetime(e Scope) (longest time.Duration, ends bool) {
	longest = p.rules.MaxLifetime
	for _, rule := range p.rules.Lifetimes {
		if e.matches(rule) {
			ends = true
			if longest == 0 || rule.Max < longest {
				longest = rule.Max
			}
		}
	}
	return longest, ends
}
