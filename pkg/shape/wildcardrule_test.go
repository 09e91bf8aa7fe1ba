package shape_test

var wildcardRuleCases = []change{
	{name: "any rule", of: legacy, old: "[check, autogen-check]", new: "['*']", want: []string{"12 wildcard-rule spec.exceptions[0].ruleNames[0]"}},
	{name: "any rule, disguised", of: legacy, old: "[check, autogen-check]", new: "[check, '*?']", want: []string{"12 wildcard-rule spec.exceptions[0].ruleNames[1]"}},
	{name: "some rules", of: legacy, old: "[check, autogen-check]", new: "[check, autogen-*, 'chec?']",
		want: []string{"12 wildcard-rule spec.exceptions[0].ruleNames[1] (warning)", "12 wildcard-rule spec.exceptions[0].ruleNames[2] (warning)"}},
}
