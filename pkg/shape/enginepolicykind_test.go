package shape_test

var kept = []string{"9 kept-by-kyverno spec.policyRefs[0].kind (warning)"}

var policyKindCases = []change{
	{name: "namespaced", of: policies, old: "kind: ValidatingPolicy", new: "kind: NamespacedValidatingPolicy", want: kept},
	{name: "namespaced, images", of: policies, old: "kind: ValidatingPolicy", new: "kind: NamespacedImageValidatingPolicy", want: kept},
	{name: "namespaced, mutating", of: policies, old: "kind: ValidatingPolicy", new: "kind: NamespacedMutatingPolicy", want: kept},
	{name: "namespaced, generating", of: policies, old: "kind: ValidatingPolicy", new: "kind: NamespacedGeneratingPolicy"},
	{name: "namespaced, deleting", of: policies, old: "kind: ValidatingPolicy", new: "kind: NamespacedDeletingPolicy"},
	{name: "old kind", of: policies, old: "kind: ValidatingPolicy", new: "kind: ClusterPolicy", want: []string{"9 unknown-policy-kind spec.policyRefs[0].kind"}},
	{name: "spelling", of: policies, old: "kind: ValidatingPolicy", new: "kind: validatingpolicy", want: []string{"9 unknown-policy-kind spec.policyRefs[0].kind"}},
	{name: "empty is the schema's", of: policies, old: "kind: ValidatingPolicy", new: "kind: ''", want: []string{"9 empty-value spec.policyRefs[0].kind"}},
}
