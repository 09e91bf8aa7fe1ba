package shape_test

var policyKindCases = []change{
	{name: "namespaced", of: policies, old: "kind: ValidatingPolicy", new: "kind: NamespacedValidatingPolicy"},
	{name: "old kind", of: policies, old: "kind: ValidatingPolicy", new: "kind: ClusterPolicy", want: []string{"9 unknown-policy-kind spec.policyRefs[0].kind"}},
	{name: "spelling", of: policies, old: "kind: ValidatingPolicy", new: "kind: validatingpolicy", want: []string{"9 unknown-policy-kind spec.policyRefs[0].kind"}},
	{name: "empty is the schema's", of: policies, old: "kind: ValidatingPolicy", new: "kind: ''", want: []string{"9 empty-value spec.policyRefs[0].kind"}},
}
