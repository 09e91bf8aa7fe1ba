package shape_test

var lookAlikeCases = []change{
	{name: "two rules", of: legacy, old: "[check, autogen-check]", new: "[check, Check]", want: []string{"12 look-alike spec.exceptions[0].ruleNames[1]"}},
	{name: "the same rule twice", of: legacy, old: "[check, autogen-check]", new: "[check, check]"},
	{name: "two policies", of: legacy, old: "[check, autogen-check]", new: "[check, autogen-check]\n  - policyName: Require-probes\n    ruleNames: [check]", want: []string{"13 look-alike spec.exceptions[1].policyName"}},
	{name: "rules of two policies", of: legacy, old: "[check, autogen-check]", new: "[check, autogen-check]\n  - policyName: another\n    ruleNames: [Check]"},
	{name: "a kind and a name", of: legacy, old: "names: [web]", new: "names: [deployment]"},
	{name: "a space behind", of: legacy, old: "[check, autogen-check]", new: "['check ']", want: []string{"12 look-alike spec.exceptions[0].ruleNames[0]"}},
	{name: "a space before a policy", of: policies, old: "name: require-probes", new: "name: ' require-probes'", want: []string{"8 look-alike spec.policyRefs[0].name"}},
}
