package shape

import (
	"fmt"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// ReasonWildcardRule is a reason of findings.
const ReasonWildcardRule = "wildcard-rule"

var wildcardRuleCheck = check{
	About: `Finds a pattern for rules, which covers the rules that the policy will have one day. One
that leaves some out is a warning: autogen-* is how some write the forms of a rule for
controllers of Pods.`,
	Reasons: []Reason{{Name: ReasonWildcardRule, Doc: "a rule is named by a pattern", Milder: true}},
	Run:     (*subject).wildcardRule,
}

func (s *subject) wildcardRule() {
	for _, ref := range s.Refs {
		for _, named := range ref.Rules {
			switch rule, path := named.Text, named.Path; {
			case wildcard.Only(rule):
				s.find(ReasonWildcardRule, path, fmt.Sprintf("%q stands for every rule of the policy, also for those still to be written", rule), "name the rules")
			case wildcard.In(rule):
				s.warn(ReasonWildcardRule, path, fmt.Sprintf("%q is a pattern, which also covers rules still to be written", rule), "name the rules")
			}
		}
	}
}
