package shape

import (
	"fmt"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// ReasonWildcardRule is a reason of findings.
const ReasonWildcardRule = "wildcard-rule"

var wildcardRuleCheck = check{
	About: "Finds a rule that is named by a pattern, which also covers rules that the policy gets later. A pattern " +
		"that leaves some rules out is a warning, because `autogen-*` is a common way to write the rules that " +
		"Kyverno generates for Pod controllers.",
	Reasons: []Reason{{Name: ReasonWildcardRule, Doc: "a rule is named by a pattern", Milder: true}},
	Run:     (*subject).wildcardRule,
}

func (s *subject) wildcardRule() {
	for _, ref := range s.Refs {
		for _, named := range ref.Rules {
			switch rule, path := named.Text, named.Path; {
			case wildcard.Only(rule):
				s.find(ReasonWildcardRule, path, fmt.Sprintf(
					"%q matches every rule of the policy, including future ones", rule), "name the rules")
			case wildcard.In(rule):
				s.warn(ReasonWildcardRule, path, fmt.Sprintf("the pattern %q also matches future rules", rule),
					"name the rules")
			}
		}
	}
}
