package shape

import (
	"fmt"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// ReasonWildcardPolicy is a reason of findings.
const ReasonWildcardPolicy = "wildcard-policy"

var wildcardPolicyCheck = check{
	About: "Finds a policy that is named by a pattern. Kyverno 1.19 compares policy names exactly, so a pattern has " +
		"no effect today. It shows that its author wants more than a reviewer should approve.",
	Reasons: []Reason{{Name: ReasonWildcardPolicy, Doc: "a policy is named by a pattern", Milder: true}},
	Run:     (*subject).wildcardPolicy,
}

func (s *subject) wildcardPolicy() {
	for _, ref := range s.Refs {
		switch name := ref.Name.Text; {
		case wildcard.Only(ref.Bare()):
			s.find(ReasonWildcardPolicy, ref.Name.Path, fmt.Sprintf("%q matches every policy", name), "name the policy")
		case wildcard.In(name):
			s.warn(ReasonWildcardPolicy, ref.Name.Path,
				fmt.Sprintf("Kyverno compares %q as an exact name, not as a pattern", name), "name the policy")
		}
		if wildcard.In(ref.Kind.Text) {
			s.find(ReasonWildcardPolicy, ref.Kind.Path, fmt.Sprintf("%q is not a kind of policy", ref.Kind.Text),
				"write a kind, e.g. ValidatingPolicy")
		}
	}
}
