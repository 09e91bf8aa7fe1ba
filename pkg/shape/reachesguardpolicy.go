package shape

import (
	"fmt"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

var reachesGuardPolicyCheck = check{
	Title: "Policies about exceptions",
	About: "Finds an exception from a policy that matches PolicyExceptions: the exception would be exempt from that " +
		"check. A policy for every kind counts too, unless it excludes PolicyException. The reason is " +
		"`reaches-guard`, and no setting permits it.",
	Run: (*subject).reachesGuardPolicy,
}

func (s *subject) reachesGuardPolicy() {
	if s.config.Policies == nil {
		return
	}
	for _, ref := range s.Refs {
		if _, found := s.guard.HasPolicy(wildcard.NewMeter(), ref.Bare()); found {
			continue // already rejected for its name
		}
		for _, p := range s.config.Policies.Guards(ref) {
			s.find(ReasonReachesGuard, ref.Name.Path,
				fmt.Sprintf("the policy %q guards exceptions: %s", ref.Name.Text, p.Guards),
				"remove the policy from the exception; if the policy is not about exceptions, exclude "+
					"PolicyException in the policy")
			break
		}
	}
}
