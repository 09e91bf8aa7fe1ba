package shape

import (
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// ReasonNamesNothing is a reason of findings.
const ReasonNamesNothing = "names-nothing"

var namesNothingCheck = check{
	Title: "Names nothing",
	About: `Finds an exception that exempts from nothing: an empty list of policies, or a policy with an
empty list of rules. It looks harmless and is reviewed as such, until a later change of one
word fills it.`,
	Reasons: []Reason{
		{ReasonNamesNothing, "the exception names no policy or no rule", false},
	},
	Run: (*subject).namesNothing,
}

func (s *subject) namesNothing(time.Time) {
	field := "exceptions"
	if s.Exc.Identity.Group == exception.PoliciesGroup {
		field = "policyRefs"
	}
	if items, isList := s.Spec()[field].([]any); isList && len(items) == 0 {
		s.refuse(ReasonNamesNothing, exception.Path{"spec", field}, "the exception names no policy", "name the policy that it is an exception from")
	}
	if field != "exceptions" {
		return
	}
	items, _ := s.Spec()[field].([]any)
	for i, item := range items {
		ref, _ := item.(map[string]any)
		if rules, isList := ref["ruleNames"].([]any); isList && len(rules) == 0 {
			s.refuse(ReasonNamesNothing, exception.Path{"spec", field, i, "ruleNames"}, "the exception names no rule of the policy",
				"name the rules, and their autogen- forms for controllers of Pods")
		}
	}
}
