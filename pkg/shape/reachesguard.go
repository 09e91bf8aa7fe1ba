package shape

import (
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/schema"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// ReasonReachesGuard is a reason of findings.
const ReasonReachesGuard = kyverno.ReasonReachesGuard

var reachesGuardCheck = check{
	About: "Finds an exception that could switch off the checks on exceptions: it matches PolicyExceptions, names a " +
		"policy that guards them, or exempts resources in a namespace of Kyverno or polex. polex-guard applies " +
		"[the same rules](guard.md#what-reaches-the-guard). `guard.allowInKyverno` admits single objects in the " +
		"namespace `kyverno`.",
	Reasons: []Reason{{Name: ReasonReachesGuard, Doc: "the exception could switch off the checks on exceptions",
		Fixed: true}},
	Run: func(s *subject) {
		for _, way := range s.ReachesGuard(s.guard).Ways() {
			if s.isFound(schema.WrongType, way.Path) {
				continue // rejected already, for the value that cannot be read
			}
			s.find(ReasonReachesGuard, way.Path, way.Hint, "%s", way.Message)
		}
	},
}

var reachesGuardPolicyCheck = check{
	Title: "Policies about exceptions",
	About: "Finds an exception from a policy that matches PolicyExceptions: the exception would be exempt from that " +
		"check. A policy for every kind counts too, unless it excludes PolicyException. The reason is " +
		"`reaches-guard`.",
	Run: func(s *subject) {
		if s.config.Policies == nil {
			return
		}
		for _, ref := range s.Refs {
			if _, found := s.guard.HasPolicy(wildcard.NewMeter(), ref.Bare()); found {
				continue // already rejected for its name
			}
			for _, p := range s.config.Policies.Guards(ref) {
				s.find(ReasonReachesGuard, ref.Name.Path,
					"remove the policy from the exception; if the policy is not about exceptions, exclude "+
						"PolicyException in the policy", "the policy %q guards exceptions: %s", ref.Name.Text, p.Guards)
				break
			}
		}
	},
}
