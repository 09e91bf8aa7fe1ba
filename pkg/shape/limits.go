package shape

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// maxLifetime returns the shortest of the maxima that apply to an exception, or
// zero if there is none, and the setting that it comes from.
func (s *subject) maxLifetime() (shortest time.Duration, setting string) {
	shortest, setting = s.config.MaxLifetime, "(shape.maxLifetime)"
	if most := s.config.Renewals.MaxLifetime; s.renews() && most > 0 && (shortest == 0 || most < shortest) {
		shortest, setting = most, "(shape.renewals.maxLifetime)"
	}
	for i, limit := range s.config.Limits {
		if !s.exceptsFrom(limit.Policies) || !s.mayReach(limit.Namespaces) {
			continue
		}
		if shortest == 0 || limit.MaxLifetime < shortest {
			shortest, setting = limit.MaxLifetime, fmt.Sprintf("(limit %d of shape.limits)", i+1)
		}
	}
	return shortest, setting
}

// exceptsFrom reports whether one of the exception's policies is in the list, with or without its
// namespace, which some references do not state. An empty list means any.
func (s *subject) exceptsFrom(patterns []string) bool {
	for _, ref := range s.Refs {
		if ref.Namespaced() && slices.ContainsFunc(patterns, func(pattern string) bool {
			return wildcard.Overlap(ref.Name.Text, pattern[strings.LastIndex(pattern, "/")+1:])
		}) {
			return true
		}
		for _, name := range []string{ref.Name.Text, ref.Bare()} {
			if _, found := wildcard.OverlapsAny(name, patterns); found {
				return true
			}
		}
	}
	return len(patterns) == 0
}

// mayReach reports whether the exception can match resources in one of these namespaces. It can if
// it names no namespaces. The expressions of policies.kyverno.io are not read here, so such an
// exception always can.
func (s *subject) mayReach(patterns []string) bool {
	if len(patterns) == 0 {
		return true
	}
	filters := s.Match.Filters()
	for _, f := range filters {
		if len(f.Namespaces) == 0 {
			return true
		}
		for _, n := range f.Namespaces {
			if _, found := wildcard.OverlapsAny(n.Text, patterns); found {
				return true
			}
		}
	}
	return len(filters) == 0
}
