package shape

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
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
		concerns, because := s.weighs(limit.Severities)
		if !concerns {
			continue
		}
		if shortest == 0 || limit.MaxLifetime < shortest {
			shortest, setting = limit.MaxLifetime, fmt.Sprintf("(limit %d of shape.limits)%s", i+1, because)
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

// weighs reports whether one of the exception's policies has one of these severities. An unknown
// policy can have any. A policy that states none, or an unknown one, has [Config.DefaultSeverity],
// or any if there is no default; why explains that.
func (s *subject) weighs(severities []string) (found bool, why string) {
	if len(severities) == 0 {
		return true, ""
	}
	const all = ", so the limits of every severity apply"
	for _, ref := range s.Refs {
		if len(s.config.Policies.Find(ref)) == 0 {
			found, why = true, fmt.Sprintf(": the policy %q is unknown%s", ref.Name.Text, all)
		}
		for _, p := range s.config.Policies.Reached(ref) {
			switch fallback := s.config.DefaultSeverity; {
			case slices.Contains(severities, p.Severity):
				return true, fmt.Sprintf(": the severity of the policy %q is %s", ref.Name.Text, p.Severity)
			case s.isSeverity(p.Severity):
			case fallback == "":
				found, why = true, fmt.Sprintf(": the policy %q states no %sseverity (%s)%s", ref.Name.Text, known(p.Severity), kyverno.AnnotationSeverity, all)
			case slices.Contains(severities, fallback):
				return true, fmt.Sprintf(": the policy %q states no %sseverity, and shape.defaultSeverity is %s", ref.Name.Text, known(p.Severity), fallback)
			}
		}
	}
	return found, why
}

// known is a word before "severity" for a policy that states an unknown one.
func known(severity string) string {
	if severity == "" {
		return ""
	}
	return "known "
}

// isSeverity reports whether a severity is one of Kyverno's, or one that a limit names.
func (s *subject) isSeverity(severity string) bool {
	return slices.Contains(kyvernoSeverities, severity) || slices.ContainsFunc(s.config.Limits, func(l Limit) bool { return slices.Contains(l.Severities, severity) })
}

var kyvernoSeverities = []string{"critical", "high", "medium", "low", "info"}

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
