package shape

import (
	"github.com/polex-dev/polex/internal/kyverno"
)

// ReasonReachesGuard is a reason of findings.
const ReasonReachesGuard = kyverno.ReasonReachesGuard

var reachesGuardCheck = check{
	Title: "Reaches guard",
	About: `Finds an exception that could switch off what decides about exceptions: it matches
PolicyExceptions themselves, excepts from a policy that guards them, or reaches into a
namespace that the guard lives in. Each filter and each match condition must require a kind,
a namespace or a whole name. A match condition does so by literals, in the forms object.kind == 'Pod', object.kind in ['Pod'] and
object.metadata.namespace.startsWith('team-'), joined by && or ||. A condition that looks at
the kind or the namespace in another form reaches the guard, for it may be there to find the
guard's. Where the known policies of the exception cannot match PolicyExceptions or
Namespaces, labels are enough, and the other forms are those of not-proven-narrow. No level
permits it. polex-guard asks the same question.`,
	Reasons: []Reason{{Name: ReasonReachesGuard, Doc: "the exception reaches what decides about exceptions", Fixed: true}},
	Run:     (*subject).reachesGuard,
}

func (s *subject) reachesGuard() {
	for _, way := range s.ReachesGuard(s.guard).Ways() {
		s.find(ReasonReachesGuard, way.Path, way.Message, way.Hint)
	}
}
