package shape_test

var wildcardPolicyCases = []change{
	{name: "any policy", of: legacy, old: "policyName: require-probes", new: "policyName: '*'",
		want: []string{"11 reaches-guard spec.exceptions[0].policyName", "11 wildcard-policy spec.exceptions[0].policyName"}},
	{name: "any policy of a namespace", of: legacy, old: "policyName: require-probes", new: "policyName: team-a/?*",
		want: []string{"11 reaches-guard spec.exceptions[0].policyName", "11 wildcard-policy spec.exceptions[0].policyName"}},
	{name: "some policies", of: legacy, old: "policyName: require-probes", new: "policyName: require-*",
		want: []string{"11 wildcard-policy spec.exceptions[0].policyName (warning)"}},
	{name: "any policy, by CEL", of: policies, old: "name: require-probes", new: "name: '**'",
		want: []string{"8 reaches-guard spec.policyRefs[0].name", "8 wildcard-policy spec.policyRefs[0].name"}},
	{name: "any kind of policy", of: policies, old: "kind: ValidatingPolicy", new: "kind: '*'", want: []string{"9 wildcard-policy spec.policyRefs[0].kind"}},
	{name: "a policy of a namespace", of: legacy, old: "policyName: require-probes", new: "policyName: team-a/require-probes"},
}

var wildcardRuleCases = []change{
	{name: "any rule", of: legacy, old: "[check, autogen-check]", new: "['*']", want: []string{"12 wildcard-rule spec.exceptions[0].ruleNames[0]"}},
	{name: "any rule, disguised", of: legacy, old: "[check, autogen-check]", new: "[check, '*?']", want: []string{"12 wildcard-rule spec.exceptions[0].ruleNames[1]"}},
	{name: "some rules", of: legacy, old: "[check, autogen-check]", new: "[check, autogen-*, 'chec?']",
		want: []string{"12 wildcard-rule spec.exceptions[0].ruleNames[1] (warning)", "12 wildcard-rule spec.exceptions[0].ruleNames[2] (warning)"}},
}

var wildcardImageCases = []change{
	{name: "any image", of: policies, old: "  matchConditions", new: "  images: [ghcr.io/acme/*, '*']\n  matchConditions", want: []string{"10 wildcard-image spec.images[1]"}},
	{name: "any value", of: policies, old: "  matchConditions", new: "  allowedValues: ['**']\n  matchConditions", want: []string{"10 wildcard-image spec.allowedValues[0]"}},
	{name: "some images", of: policies, old: "  matchConditions", new: "  images: [ghcr.io/acme/*]\n  matchConditions"},
	{name: "any image of a control", of: legacy, old: "  match:\n", new: "  podSecurity: [{controlName: Capabilities, images: ['*']}]\n  match:\n", want: []string{"13 wildcard-image spec.podSecurity[0].images[0] (warning)"}},
	{name: "some images of a control", of: legacy, old: "  match:\n", new: "  podSecurity: [{controlName: Capabilities, images: [nginx*]}]\n  match:\n"},
}

var wildcardMatchCases = []change{
	{name: "any name in a namespace", of: legacy, old: "[web]", new: "[web, '?*']", want: []string{"17 wildcard-match spec.match.any[0].resources.names[1]"}},
	{name: "any name, as name", of: legacy, old: "names: [web]", new: "name: '*'", want: []string{"17 wildcard-match spec.match.any[0].resources.name"}},
	{name: "any namespace", of: legacy, old: "namespaces: [team-a]", new: "namespaces: ['*-system', '*']",
		want: []string{"18 reaches-guard spec.match.any[0].resources.namespaces[0]", "18 reaches-guard spec.match.any[0].resources.namespaces[1]", "18 wildcard-match spec.match.any[0].resources.namespaces[1]"}},
	{name: "empty selector beside names", of: legacy, old: "names: [web]", new: "names: [web]\n        selector: {}", want: []string{"18 bad-selector spec.match.any[0].resources.selector"}},
	{name: "selector that asks for absence", of: legacy, old: "names: [web]", new: "names: [web]\n        namespaceSelector: {matchExpressions: [{key: a, operator: DoesNotExist}]}",
		want: []string{"18 wildcard-match spec.match.any[0].resources.namespaceSelector"}},
	{name: "selector that asks for presence", of: legacy, old: "names: [web]", new: "names: [web]\n        selector: {matchLabels: {app: web}}"},
	{name: "in match.all", of: legacy, old: legacyMatch, new: "  match:\n    all:\n    - resources: {kinds: [Deployment], names: [web]}\n    - resources: {names: ['*']}\n",
		want: []string{"16 wildcard-match spec.match.all[1].resources.names[0]"}},
	{name: "said for the whole filter already", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        names: ['*']\n", want: everyFilter},
}

var nothingCases = []change{
	{name: "no policy", of: policies, old: "\n  - name: require-probes\n    kind: ValidatingPolicy", new: " []", want: []string{"7 names-nothing spec.policyRefs"}},
	{name: "no rule", of: legacy, old: "[check, autogen-check]", new: "[]", want: []string{"12 names-nothing spec.exceptions[0].ruleNames"}},
}
