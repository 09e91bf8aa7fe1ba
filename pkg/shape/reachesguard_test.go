package shape_test

import "github.com/polex-dev/polex/pkg/shape"

var guardCases = []change{
	{name: "a policy of one's own", of: legacy, config: shape.Config{GuardPolicies: []string{"require-*"}}, want: []string{"11 reaches-guard spec.exceptions[0].policyName"}},
	{name: "its own are added to", of: legacy, config: shape.Config{GuardPolicies: []string{}, GuardNamespaces: []string{}}, old: "policyName: require-probes", new: "policyName: polex-seal",
		want: []string{"11 reaches-guard spec.exceptions[0].policyName"}},
	{name: "a namespace of one's own", of: legacy, config: shape.Config{GuardNamespaces: []string{"team-?"}}, want: []string{"18 reaches-guard spec.match.any[0].resources.namespaces[0]"}},
	{name: "a policy of the guard", of: policies, old: "name: require-probes", new: "name: validate-polex", want: []string{"8 reaches-guard spec.policyRefs[0].name"}},
	{name: "in another case", of: policies, old: "name: require-probes", new: "name: Polex-Seal", want: []string{"8 reaches-guard spec.policyRefs[0].name"}},
	{name: "a policy in the guard's namespace", of: legacy, old: "policyName: require-probes", new: "policyName: kyverno/check", want: []string{"11 reaches-guard spec.exceptions[0].policyName"}},
	{name: "a pattern that fits one", of: legacy, old: "policyName: require-probes", new: "policyName: '*-seal'",
		want: []string{"11 reaches-guard spec.exceptions[0].policyName", "11 wildcard-policy spec.exceptions[0].policyName (warning)"}},
	{name: "what only sounds like one", of: legacy, old: "policyName: require-probes", new: "policyName: no-polex-here"},
	{name: "the namespace itself", of: legacy, old: "kinds: [Deployment]\n        names: [web]\n        namespaces: [team-a]", new: "kinds: [Namespace]\n        names: [kyverno]",
		want: []string{"17 reaches-guard spec.match.any[0].resources.names[0]"}},
	{name: "something else of that name", of: legacy, old: "names: [web]", new: "names: [kyverno]"},
	{name: "in match.all", of: legacy, old: "    any:\n", new: "    all:\n    - resources: {kinds: [PolicyException]}\n",
		want: []string{"15 reaches-guard spec.match.all[0].resources.kinds[0]"}},
	{name: "a condition about exceptions", of: policies, old: goodCondition, new: goodCondition + " && object.kind in ['PolicyException']",
		want: []string{"12 reaches-guard spec.matchConditions[0].expression"}},
	{name: "a condition about exceptions as a resource", of: policies, old: goodCondition, new: goodCondition + ` && request.resource.resource == "policyexceptions"`,
		want: []string{"12 reaches-guard spec.matchConditions[0].expression"}},
	{name: "a condition about the guard's namespace", of: policies, old: "'team-a'", new: "'kyverno'", want: []string{"12 reaches-guard spec.matchConditions[0].expression"}},
	{name: "a condition that uses the word otherwise", of: policies, old: goodCondition, new: quote("object.metadata.?labels[?'by'].orValue('') == 'kyverno' && object.kind == 'Pod'")},
	{name: "a label alone", of: policies, old: goodCondition, new: quote("object.metadata.labels['by'] == 'kyverno'"), want: labelsAlone},
}

func init() {
	for _, kind := range []string{
		"PolicyException", "kyverno.io/v2/PolicyException", "policies.kyverno.io/*/PolicyException", "*/PolicyException", "*/*/PolicyException", "v2/PolicyException",
		"Policy*", "kyverno.io/v2/Policy*", "*Exception", "policyexception", "PolicyExceptions", "policies.kyverno.io/PolicyException", "kyverno.io/v2beta1/PolicyException/status",
		"PolicyException.v2.kyverno.io", "*.io/v1/P*", "?olicyExceptio?", "Policy?*ception", "a/b/c/d/PolicyException",
	} {
		c := change{name: "kind " + kind, of: legacy, old: "[Deployment]", new: "['" + kind + "']",
			want: []string{"16 reaches-guard spec.match.any[0].resources.kinds[0]"}}
		if kind == "*/*/PolicyException" { // in Kyverno: a subresource of any kind
			c.want = append([]string{"15 matches-everything spec.match.any[0]"}, c.want...)
		}
		guardCases = append(guardCases, c)
	}
	for _, kind := range []string{"Policy", "ClusterPolicy", "apps/v1/P*", "PolicyExceptionReport", "Policy?"} {
		guardCases = append(guardCases, change{name: "kind " + kind, of: legacy, old: "[Deployment]", new: "['" + kind + "']"})
	}
	for _, namespace := range []string{"kyverno", "kyv*", "polex-system", "*-system", "???????", "*no"} {
		guardCases = append(guardCases, change{name: "namespace " + namespace, of: legacy, old: "[team-a]", new: "[team-a, '" + namespace + "']",
			want: []string{"18 reaches-guard spec.match.any[0].resources.namespaces[1]"}})
	}
	for _, namespace := range []string{"kyverno-demo", "kyvern", "my-kyverno", "team-*", "????"} {
		guardCases = append(guardCases, change{name: "namespace " + namespace, of: legacy, old: "[team-a]", new: "['" + namespace + "']"})
	}
}
