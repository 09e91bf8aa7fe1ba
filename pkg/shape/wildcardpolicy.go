package shape

import (
	"fmt"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// ReasonWildcardPolicy is a reason of findings.
const ReasonWildcardPolicy = "wildcard-policy"

var wildcardPolicyCheck = check{
	Title: "Wildcard policy",
	About: `Finds a policy named by a pattern. Kyverno 1.19 compares names of policies as they are, so
that today a pattern reaches nothing: whoever wrote it meant more than anybody should
approve.`,
	Reasons: []Reason{
		{ReasonWildcardPolicy, "a policy is named by a pattern", false},
	},
	Run: (*subject).wildcardPolicy,
}

func (s *subject) wildcardPolicy(time.Time) {
	for _, ref := range s.Exc.Policies {
		field := "policyName"
		if s.Exc.Identity.Group == exception.PoliciesGroup {
			field = "name"
		}
		name := ref.Name[strings.LastIndex(ref.Name, "/")+1:]
		switch {
		case wildcard.Only(name):
			s.refuse(ReasonWildcardPolicy, ref.Path.With(field), fmt.Sprintf("%q stands for every policy", ref.Name), "name the policy")
		case wildcard.In(ref.Name):
			s.warn(ReasonWildcardPolicy, ref.Path.With(field), fmt.Sprintf("Kyverno reads %q as a name and not as a pattern", ref.Name), "name the policy")
		}
		if wildcard.In(ref.Kind) {
			s.refuse(ReasonWildcardPolicy, ref.Path.With("kind"), fmt.Sprintf("%q is no kind of policy", ref.Kind), "write a kind such as ValidatingPolicy")
		}
	}
}
