package trust

import (
	"fmt"
	"time"

	"github.com/polex-dev/polex/internal/lifetime"
)

// Within reports whether a document meets the limits of the authority. signed is the signing time,
// or zero if it is unknown. If the document exceeds a limit, why names the limit and the found
// value.
func (a *Authority) Within(e Scope, signed time.Time) (is bool, why string) {
	l := &a.limits
	if l.Kinds != nil && !l.Kinds.Allow(e.kind) {
		return false, fmt.Sprintf("limits.kinds are %s, and it is a %q", l.KindNames, e.kind.String())
	}
	if l.Namespaces != nil && !l.Namespaces.Include(e.namespace) {
		return false, fmt.Sprintf("limits.namespaces are %s, and it is in %q", l.Namespaces, e.namespace)
	}
	if l.Policies != nil {
		if found := e.beyondPolicies(l.Policies); found != "" {
			return false, fmt.Sprintf("limits.policies are %s, and %s", l.Policies, found)
		}
	}
	if l.Exempted != nil {
		if found := e.beyondExempted(l.Exempted); found != "" {
			return false, fmt.Sprintf("limits.exemptedNamespaces are %s, and %s", l.Exempted, found)
		}
	}
	if l.MaxLifetime > 0 {
		if found := e.beyondLifetime(l.MaxLifetime, signed); found != "" {
			return false, fmt.Sprintf("limits.maxLifetime is %s, and %s", lifetime.FormatDuration(l.MaxLifetime), found)
		}
	}
	if l.Renewals != nil {
		if found := e.beyondRenewals(l.Renewals, signed); found != "" {
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
