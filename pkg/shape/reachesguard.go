package shape

import (
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
)

// ReasonReachesGuard is a reason of findings.
const ReasonReachesGuard = kyverno.ReasonReachesGuard

var reachesGuardCheck = check{
	About: "Finds an exception that could switch off the checks on exceptions: it matches PolicyExceptions, names a " +
		"policy that guards them, or exempts resources in a namespace of Kyverno or polex. polex-guard applies " +
		"the same rules ([more](guard.md)). No level permits such an " +
		"exception. `guard.allowInKyverno` admits single objects in the namespace `kyverno`.\n\n" +
		"Each filter and each match condition must require a kind, a namespace or a whole name. A match condition " +
		"does this with literals: `object.kind == 'Pod'`, `object.kind in ['Pod']` or " +
		"`object.metadata.namespace.startsWith('team-')`, joined by `&&` or `||`. A condition that reads the kind " +
		"or the namespace in another form is an error, because it could select the objects of the guard.\n\n" +
		"If polex knows the policies, and they cannot match PolicyExceptions or Namespaces, labels alone are " +
		"enough. Conditions in other forms are then at most `not-proven-narrow`, unless they read the namespace.",
	Reasons: []Reason{{Name: ReasonReachesGuard, Doc: "the exception could switch off the checks on exceptions", Fixed: true}},
	Run:     (*subject).reachesGuard,
}

func (s *subject) reachesGuard() {
	for _, way := range s.ReachesGuard(s.guard).Ways() {
		if s.isFound(exception.ProblemWrongType, way.Path) {
			continue // rejected already, for the value that cannot be read
		}
		s.find(ReasonReachesGuard, way.Path, way.Message, way.Hint)
	}
}
