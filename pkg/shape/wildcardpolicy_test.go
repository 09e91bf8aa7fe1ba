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
