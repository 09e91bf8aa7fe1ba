package shape_test

import (
	"strings"

	"github.com/polex-dev/polex/pkg/shape"
)

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

var kindCases = []change{
	{name: "another kind", of: legacy, old: "kind: PolicyException", new: "kind: ClusterPolicy", want: []string{"2 not-an-exception kind"}},
	{name: "another group", of: legacy, old: "kyverno.io/v2", new: "kyverno.example/v2", want: []string{"2 not-an-exception kind"}},
	{name: "a misspelt group", of: legacy, old: "kyverno.io/v2", new: "kyvrno.io/v2", want: []string{"1 not-an-exception apiVersion"}},
	{name: "another case", of: legacy, old: "kind: PolicyException", new: "kind: policyexception", want: []string{"2 not-an-exception kind"}},
	{name: "a list", of: "apiVersion: v1\nkind: List\nitems: []\n", want: []string{"2 not-an-exception kind"}},
	{name: "no kind", of: "metadata: {}\n", want: []string{"1 not-an-exception kind"}},
}

func on(version string) shape.Config { return shape.Config{KyvernoVersion: version} }

var (
	ignored    = []string{"1 ignored-api apiVersion"}
	deprecated = []string{"1 ignored-api apiVersion (warning)"}
	notServed  = []string{"1 unknown-version apiVersion"}

	ignoredCases = []change{
		{name: "kyverno.io, not asked", of: legacy},
		{name: "kyverno.io on 1.18", of: legacy, config: on("1.18")},
		{name: "kyverno.io on 1.19", of: legacy, config: on("1.19")},
		{name: "kyverno.io on v1.19.1", of: legacy, config: on("v1.19.1")},
		{name: "kyverno.io on a candidate of 1.20", of: legacy, config: on("v1.20.0-rc.1"), want: ignored},
		{name: "kyverno.io on 1.20", of: legacy, config: on("1.20.0"), want: ignored},
		{name: "kyverno.io on 1.21", of: legacy, config: on("1.21"), want: ignored},
		{name: "kyverno.io v2 on 1.11", of: legacy, config: on("1.11"), want: notServed},
		{name: "v2beta1 on 1.12", of: legacy, old: "v2", new: "v2beta1", config: on("1.12")},
		{name: "v2beta1 on 1.13", of: legacy, old: "v2", new: "v2beta1", config: on("1.13"), want: deprecated},
		{name: "v2beta1 on 1.19", of: legacy, old: "v2", new: "v2beta1", config: on("1.19"), want: deprecated},
		{name: "v2beta1 on 1.20", of: legacy, old: "v2", new: "v2beta1", config: on("1.20"), want: ignored},
		{name: "v2alpha1 on no release in particular", of: legacy, old: "v2", new: "v2alpha1", want: notServed},
		{name: "v2alpha1 on 1.11", of: legacy, old: "v2", new: "v2alpha1", config: on("1.11"), want: deprecated},
		{name: "v2alpha1 on 1.14", of: legacy, old: "v2", new: "v2alpha1", config: on("1.14"), want: notServed},
		{name: "a version that never was", of: legacy, old: "v2", new: "v7", config: on("1.18"), want: notServed},
		{name: "podSecurity on 1.11", of: earlier, old: "  match:\n", new: "  podSecurity: [{controlName: Capabilities, images: [nginx*]}]\n  match:\n", config: on("1.11"), want: []string{"13 unknown-field spec.podSecurity"}},
		{name: "policies.kyverno.io on 1.19", of: policies, config: on("1.19")},
		{name: "policies.kyverno.io on 1.20", of: policies, config: on("v1.20.3")},
		{name: "v1alpha1 on 1.19", of: policies, old: "/v1\n", new: "/v1alpha1\n", config: on("1.19"), want: deprecated},
		{name: "v1 on 1.16", of: current, config: on("1.16"), want: notServed},
		{name: "v1beta1 on 1.15", of: current, old: "/v1\n", new: "/v1beta1\n", config: on("1.15"), want: notServed},
		{name: "v1alpha1 on 1.14", of: current, old: "/v1\n", new: "/v1alpha1\n", config: on("1.14")},
		{name: "v1alpha1 on 1.13", of: current, old: "/v1\n", new: "/v1alpha1\n", config: on("1.13"), want: notServed},
		{name: "fields of 1.19 on 1.18", of: policies, config: on("1.18"),
			want: []string{"13 unknown-field spec.expiresAt", "14 unknown-field spec.properties"}},
		{name: "evaluationMode on 1.18", of: current, old: "spec:\n", new: "spec:\n  evaluationMode: Kubernetes\n", config: on("1.18"), want: []string{"9 unknown-field spec.evaluationMode"}},
		{name: "images on 1.15", of: replaced(current, "/v1\n", "/v1alpha1\n"), old: "spec:\n", new: "spec:\n  images: [a]\n", config: on("1.15"), want: []string{"9 unknown-field spec.images"}},
	}

	// earlier and current are exceptions without fields of a later release.
	earlier = replaced(legacy, "kyverno.io/v2\n", "kyverno.io/v2beta1\n")
	current = replaced(replaced(policies, "  expiresAt: \"2026-06-08T12:00:00Z\"\n  properties: {reason: the vendor's image has no health endpoint}\n", ""),
		"  namespace: team-a\n", "  namespace: team-a\n  annotations:\n    polex.dev/expires-at: \"2026-06-08T12:00:00Z\"\n")
)

func replaced(text, old, with string) string {
	if !strings.Contains(text, old) {
		panic("there is no " + old)
	}
	return strings.Replace(text, old, with, 1)
}
