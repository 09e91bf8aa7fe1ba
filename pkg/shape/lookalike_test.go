package shape_test

var lookAlikeCases = []change{
	{name: "two rules", of: legacy, old: "[check, autogen-check]", new: "[check, Check]", want: []string{"12 look-alike spec.exceptions[0].ruleNames[1]"}},
	{name: "the same rule twice", of: legacy, old: "[check, autogen-check]", new: "[check, check]"},
	{name: "a space behind", of: legacy, old: "[check, autogen-check]", new: "['check ']", want: []string{"12 look-alike spec.exceptions[0].ruleNames[0]"}},
	{name: "a space before a policy", of: policies, old: "name: require-probes", new: "name: ' require-probes'", want: []string{"8 look-alike spec.policyRefs[0].name"}},
}
