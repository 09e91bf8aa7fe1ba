package shape_test

import "testing"

var probes = legacyPolicy("ClusterPolicy", "require-probes", checkRule, "name: other, match: {any: [{resources: {kinds: [Service]}}]}, validate: {pattern: {a: b}}")

var unknownRuleCases = []change{
	{name: "each exists", of: legacy, config: knowing(probes), old: "[check, autogen-check]", new: "[check, autogen-check, autogen-cronjob-check, other]"},
	{name: "a pattern fits some", of: legacy, config: knowing(probes), old: "autogen-check", new: "autogen-*", want: []string{"12 wildcard-rule spec.exceptions[0].ruleNames[1] (warning)"}},
	{name: "misspelt", of: legacy, config: knowing(probes), old: "[check, autogen-check]", new: "[chekc, autogen-check]", want: []string{"12 unknown-rule spec.exceptions[0].ruleNames[0]"}},
	{name: "in other letters", of: legacy, config: knowing(probes), old: "[check, autogen-check]", new: "[Check, autogen-check]", want: []string{"12 unknown-rule spec.exceptions[0].ruleNames[0]"}},
	{name: "a pattern fits none", of: legacy, config: knowing(probes), old: "[check, autogen-check]", new: "['look-*', autogen-check]",
		want: []string{"12 unknown-rule spec.exceptions[0].ruleNames[0]", "12 wildcard-rule spec.exceptions[0].ruleNames[0] (warning)"}},
	{name: "made of no rule for Services", of: legacy, config: knowing(probes), old: "[check, autogen-check]", new: "[autogen-check, autogen-other]",
		want: []string{"12 unknown-rule spec.exceptions[0].ruleNames[1]"}},
	{name: "of the policy in another cluster", of: legacy, config: knowing(probes, legacyPolicy("ClusterPolicy", "require-probes", "name: extra, match: {any: [{resources: {kinds: [Service]}}]}")),
		old: "[check, autogen-check]", new: "[check, autogen-check, extra]"},
	{name: "of a policy that is unknown", of: legacy, config: knowing(probes), old: "policyName: require-probes\n    ruleNames: [check", new: "policyName: nothing-alike\n    ruleNames: [what",
		want: []string{"11 unknown-policy spec.exceptions[0].policyName"}},
}

func TestUnknownRuleHints(t *testing.T) {
	hasHint(t, unknownRuleCases, "misspelt", `did you mean "check"?`)
	hasHint(t, unknownRuleCases, "in other letters", `did you mean "check"?`)
	hasHint(t, unknownRuleCases, "made of no rule for Services", `Kyverno generates no such rule from "other"`)
	hasHint(t, unknownRuleCases, "a pattern fits none", "name a rule of the policy")
}
