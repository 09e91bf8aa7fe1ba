package shape

import (
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/schema"
)

// ReasonReachesGuard is a reason of findings.
const ReasonReachesGuard = kyverno.ReasonReachesGuard

var reachesGuardCheck = check{
	About: "Finds an exception that could switch off the checks on exceptions: it matches PolicyExceptions, names a " +
		"policy that guards them, or exempts resources in a namespace of Kyverno or polex. polex-guard applies " +
		"[the same rules](guard.md#what-reaches-the-guard). No level permits such an exception. " +
		"`guard.allowInKyverno` admits single objects in the namespace `kyverno`.",
	Reasons: []Reason{{Name: ReasonReachesGuard, Doc: "the exception could switch off the checks on exceptions",
		Fixed: true}},
	Run: (*subject).reachesGuard,
}

func (s *subject) reachesGuard() {
	for _, way := range s.ReachesGuard(s.guard).Ways() {
		if s.isFound(schema.WrongType, way.Path) {
			continue // rejected already, for the value that cannot be read
		}
		s.find(ReasonReachesGuard, way.Path, way.Message, way.Hint)
	}
}
