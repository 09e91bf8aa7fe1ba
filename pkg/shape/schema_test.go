package shape_test

// The schema has its own tests; this is one case of each reason.
var schemaCases = []change{
	{name: "unknown version", of: legacy, old: "kyverno.io/v2", new: "kyverno.io/v1", want: []string{"1 unknown-version apiVersion"}},
	{name: "unknown field", of: legacy, old: "spec:\n", new: "spec:\n  validationFailureAction: Audit\n", want: []string{"10 unknown-field spec.validationFailureAction"}},
	{name: "fields of the other group", of: legacy, old: "kyverno.io/v2", new: "policies.kyverno.io/v1", want: []string{"10 unknown-field spec.exceptions"}},
	{name: "fields of the other group, of kyverno.io", of: policies, old: "policies.kyverno.io/v1", new: "kyverno.io/v2", want: []string{"7 unknown-field spec.policyRefs"}},
	{name: "unsignable field", of: legacy, old: "metadata:\n", new: "metadata:\n  finalizers: [a/b]\n", want: []string{"4 unsignable-field metadata.finalizers"}},
	{name: "missing field", of: legacy, old: "  namespace: team-a\n", new: "", want: []string{"3 missing-field metadata.namespace"}},
	{name: "kinds that are a text", of: legacy, old: "[Deployment]", new: "Deployment", want: []string{"16 wrong-type spec.match.any[0].resources.kinds"}},
	{name: "wrong type", of: legacy, old: "[web]", new: "web", want: []string{"17 wrong-type spec.match.any[0].resources.names"}},
	{name: "invalid value", of: legacy, old: "[web]", new: "[web]\n        operations: [PATCH]", want: []string{"18 wider-than-written spec.match.any[0].resources.operations (warning)", "18 invalid-value spec.match.any[0].resources.operations[0]"}},
	{name: "null", of: legacy, old: "spec:\n", new: "spec:\n  background:\n", want: []string{"10 null-value spec.background"}},
	{name: "empty", of: legacy, old: "metadata:\n", new: "metadata:\n  labels: {}\n", want: []string{"4 empty-value metadata.labels"}},
}
