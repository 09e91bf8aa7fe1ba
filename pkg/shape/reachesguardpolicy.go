package shape

import (
	"fmt"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

var reachesGuardPolicyCheck = check{
	Title: "Reaches guard policy",
	About: `Finds an exception from a policy that is itself about PolicyExceptions, by whatever name:
whether it demands a signature, an expiry or a label, an exception from it would be an
exception from the check on exceptions. No setting permits it. A policy for every kind is
one too, unless it leaves PolicyExceptions out.`,
	Run: (*subject).reachesGuardPolicy,
}

func (s *subject) reachesGuardPolicy() {
	if s.config.Policies == nil {
		return
	}
	for _, ref := range s.Refs {
		if _, found := s.guard.HasPolicy(wildcard.NewMeter(), ref.Bare()); found {
			continue // refused for its name already
		}
		for _, p := range s.config.Policies.Guards(ref) {
			s.find(ReasonReachesGuard, ref.Name.Path, fmt.Sprintf("the policy %q guards exceptions: %s", ref.Name.Text, p.Guards),
				"if the policy is not meant for exceptions, let it leave out PolicyException, in the open")
			break
		}
	}
}
