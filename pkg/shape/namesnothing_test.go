package shape_test

var nothingCases = []change{
	{name: "no policy", of: policies, old: "\n  - name: require-probes\n    kind: ValidatingPolicy", new: " []", want: []string{"7 names-nothing spec.policyRefs"}},
	{name: "no rule", of: legacy, old: "[check, autogen-check]", new: "[]", want: []string{"12 names-nothing spec.exceptions[0].ruleNames"}},
}
