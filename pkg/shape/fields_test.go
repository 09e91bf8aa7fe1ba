package shape_test

import (
	"fmt"
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

var hiddenCases = []change{
	{name: "Cyrillic letter in a policy", of: legacy, old: "policyName: require-probes", new: "policyName: rеquire-probes", want: []string{"11 hidden-character spec.exceptions[0].policyName"}},
	{name: "zero width in a rule", of: legacy, old: "[check,", new: `["che\u200bck",`, want: []string{"12 hidden-character spec.exceptions[0].ruleNames[0]"}},
	{name: "line break in a kind", of: legacy, old: "[Deployment]", new: `["Deployment\n"]`, want: []string{"16 hidden-character spec.match.any[0].resources.kinds[0]", "16 unknown-kind spec.match.any[0].resources.kinds[0] (warning)"}},
	{name: "letter of another alphabet in a namespace", of: legacy, old: "namespaces: [team-a]", new: "namespaces: [team-а]", want: []string{"18 never-matches spec.match.any[0].resources.namespaces", "18 hidden-character spec.match.any[0].resources.namespaces[0]"}},
	{name: "full width in a name", of: legacy, old: "[web]", new: "[ｗeb]", want: []string{"17 hidden-character spec.match.any[0].resources.names[0]"}},
	{name: "the exception's own name", of: legacy, old: "name: web-probes", new: "name: wеb-probes", want: []string{"4 hidden-character metadata.name", "4 invalid-value metadata.name"}},
	{name: "a policy by CEL", of: policies, old: "name: require-probes", new: `name: "require\u00adprobes"`, want: []string{"8 hidden-character spec.policyRefs[0].name"}},
	{name: "a space is seen", of: legacy, old: "[check,", new: `["check probes",`},
	{name: "prose may be in any language", of: legacy, old: "the vendor's image", new: "Образ поставщика, می\u200cخواهم, 画像"},
	{name: "prose that turns around", of: legacy, old: "the vendor's image", new: "\u202eegami", want: []string{`7 hidden-character metadata.annotations["polex.dev/reason"]`}},
	{name: "an expression that turns around", of: policies, old: "'web'", new: "'web\u2066'", want: []string{"12 hidden-character spec.matchConditions[0].expression"}},
	{name: "a key", of: policies, old: "{reason:", new: "{\"a\u200b\": b, reason:", want: []string{`14 hidden-character spec.properties["a\u200b"]`}},
	{name: "a comment", of: legacy, old: "spec:\n", new: "spec: # \u202e\n", want: []string{"9 hidden-character ."}},
	{name: "a comment above the document", of: legacy, old: "apiVersion", new: "# \u200b\n---\napiVersion", want: []string{"1 hidden-character ."}},
}

var lookAlikeCases = []change{
	{name: "two rules", of: legacy, old: "[check, autogen-check]", new: "[check, Check]", want: []string{"12 look-alike spec.exceptions[0].ruleNames[1]"}},
	{name: "the same rule twice", of: legacy, old: "[check, autogen-check]", new: "[check, check]"},
	{name: "two policies", of: legacy, old: "[check, autogen-check]", new: "[check, autogen-check]\n  - policyName: Require-probes\n    ruleNames: [check]", want: []string{"13 look-alike spec.exceptions[1].policyName"}},
	{name: "rules of two policies", of: legacy, old: "[check, autogen-check]", new: "[check, autogen-check]\n  - policyName: another\n    ruleNames: [Check]"},
	{name: "a kind and a name", of: legacy, old: "names: [web]", new: "names: [deployment]"},
	{name: "a space behind", of: legacy, old: "[check, autogen-check]", new: "['check ']", want: []string{"12 look-alike spec.exceptions[0].ruleNames[0]"}},
	{name: "a space before a policy", of: policies, old: "name: require-probes", new: "name: ' require-probes'", want: []string{"8 look-alike spec.policyRefs[0].name"}},
}

const twoPolicies = "[check, autogen-check]\n  - policyName: another\n    ruleNames: [check]"

var scopeCases = []change{
	{name: "namespace that is allowed", of: legacy, config: shape.Config{Namespaces: []string{"platform", "team-*"}}},
	{name: "namespace that is not", of: legacy, config: shape.Config{Namespaces: []string{"platform", "teams-*"}}, want: []string{"5 wrong-namespace metadata.namespace"}},
	{name: "as many policies as allowed", of: legacy, config: shape.Config{MaxPolicies: new(2)}, old: "[check, autogen-check]", new: twoPolicies},
	{name: "too many policies", of: legacy, config: shape.Config{MaxPolicies: new(1)}, old: "[check, autogen-check]", new: twoPolicies, want: []string{"13 too-many-policies spec.exceptions[1]"}},
	{name: "too many policies, native", of: policies, config: shape.Config{MaxPolicies: new(1)}, old: "    kind: ValidatingPolicy\n", new: "    kind: ValidatingPolicy\n  - {name: b, kind: ValidatingPolicy}\n",
		want: []string{"10 too-many-policies spec.policyRefs[1]"}},
	{name: "names asked for, and there", of: legacy, config: shape.Config{RequireInMatch: []string{"names", "namespaces"}}},
	{name: "no names", of: legacy, config: shape.Config{RequireInMatch: []string{"names"}}, old: "        names: [web]\n", new: "", want: []string{"15 missing-names spec.match.any[0].resources"}},
	{name: "a custom kind without a namespace", of: legacy, config: shape.Config{RequireInMatch: []string{"namespaces"}, ClusterScoped: []string{"ClusterIssuer.cert-manager.io"}}, old: scopeOfLegacy, new: "kinds: [cert-manager.io/v1/ClusterIssuer]\n        names: [web]"},
	{name: "a custom kind that is not listed", of: legacy, config: shape.Config{RequireInMatch: []string{"namespaces"}, ClusterScoped: []string{"Issuer.cert-manager.io"}}, old: scopeOfLegacy, new: "kinds: [cert-manager.io/v1/ClusterIssuer]\n        names: [web]",
		want: []string{"15 missing-namespaces spec.match.any[0].resources"}},
	{name: "a kind of Kubernetes without its group", of: legacy, config: shape.Config{RequireInMatch: []string{"namespaces"}}, old: scopeOfLegacy, new: "kinds: [ClusterRole]\n        names: [web]",
		want: []string{"15 missing-namespaces spec.match.any[0].resources"}},
	{name: "no namespaces", of: legacy, config: shape.Config{RequireInMatch: []string{"namespaces"}}, old: "        namespaces: [team-a]\n", new: "", want: []string{"15 missing-namespaces spec.match.any[0].resources"}},
	{name: "no namespaces, of what is in none", of: legacy, config: shape.Config{RequireInMatch: []string{"namespaces", "names"}}, old: legacyMatch, new: strings.Replace(strings.Replace(legacyMatch, "kinds: [Deployment]", "kinds: [rbac.authorization.k8s.io/*/ClusterRole, v1/Node]", 1), "        namespaces: [team-a]\n", "", 1)},
	{name: "no namespaces, of what may be in one", of: legacy, config: shape.Config{RequireInMatch: []string{"namespaces"}}, old: legacyMatch, new: strings.Replace(strings.Replace(legacyMatch, "kinds: [Deployment]", "kinds: [rbac.authorization.k8s.io/*/ClusterRole, ClusterRole]", 1), "        namespaces: [team-a]\n", "", 1),
		want: []string{"15 missing-namespaces spec.match.any[0].resources"}},
	{name: "no namespaces, of Namespaces", of: legacy, config: shape.Config{RequireInMatch: []string{"namespaces"}}, old: legacyMatch, new: strings.Replace(strings.Replace(legacyMatch, "kinds: [Deployment]", "kinds: [v1/Namespace]", 1), "        namespaces: [team-a]\n", "", 1),
		want: []string{"15 missing-namespaces spec.match.any[0].resources"}},
	{name: "no senders", of: legacy, config: shape.Config{RequireInMatch: []string{"subjects"}}, want: []string{"15 missing-subjects spec.match.any[0]"}},
	{name: "senders", of: legacy, config: shape.Config{RequireInMatch: []string{"subjects"}}, old: legacyMatch, new: "  background: false\n" + strings.Replace(legacyMatch, "    - resources:", "    - subjects: [{kind: User, name: ci}]\n      resources:", 1)},
	{name: "empty senders", of: legacy, config: shape.Config{RequireInMatch: []string{"subjects"}}, old: "    - resources:", new: "    - subjects: []\n      resources:", want: []string{"15 missing-subjects spec.match.any[0]"}},
}

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

const legacyMatch = `  match:
    any:
    - resources:
        kinds: [Deployment]
        names: [web]
        namespaces: [team-a]
`

var (
	everyFilter = []string{"15 matches-everything spec.match.any[0]"}
	emptyFilter = append(everyFilter[:1:1], "15 reaches-guard spec.match.any[0]")
	matchCases  = []change{
		{name: "empty match", of: legacy, old: legacyMatch, new: "  match: {}\n", want: []string{"13 matches-everything spec.match"}},
		{name: "no match", of: legacy, old: legacyMatch, new: "", want: []string{"9 missing-field spec.match"}},
		{name: "no filter", of: legacy, old: legacyMatch, new: "  match: {any: []}\n", want: []string{"13 matches-everything spec.match"}},
		{name: "empty filter", of: legacy, old: legacyMatch, new: "  match:\n    any:\n    - {}\n", want: emptyFilter},
		{name: "empty resources", of: legacy, old: legacyMatch, new: "  match:\n    any:\n    - resources: {}\n", want: emptyFilter},
		{name: "an empty filter behind a narrow one", of: legacy, old: legacyMatch, new: legacyMatch + "    - {}\n", want: []string{"19 matches-everything spec.match.any[1]", "19 reaches-guard spec.match.any[1]"}},
		{name: "only users", of: legacy, old: legacyMatch, new: "  match:\n    any:\n    - clusterRoles: [cluster-admin]\n", want: []string{"15 background-user-info spec.match.any[0].clusterRoles", "15 open-match spec.match.any[0]", "15 reaches-guard spec.match.any[0]"}},
		{name: "only kinds", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "", want: everyFilter},
		{name: "no kinds", of: legacy, old: "        kinds: [Deployment]\n", new: "", want: []string{"15 missing-kinds spec.match.any[0]"}},
		{name: "empty kinds", of: legacy, old: "[Deployment]", new: "[]", want: []string{"15 missing-kinds spec.match.any[0]"}},
		{name: "names are enough", of: legacy, old: "        namespaces: [team-a]\n", new: ""},
		{name: "one name too", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        name: web\n"},
		{name: "namespaces are enough", of: legacy, old: "        names: [web]\n", new: ""},
		{name: "any name", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        names: [web, '*']\n", want: everyFilter},
		{name: "any name, disguised", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        names: ['?*']\n", want: everyFilter},
		{name: "any name, as name", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        name: '**'\n", want: everyFilter},
		{name: "a partial pattern narrows", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        names: [web-*]\n"},
		{name: "annotations do not narrow", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        annotations: {exempt: please}\n", want: everyFilter},
		{name: "operations do not narrow", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        operations: [CREATE]\n", want: append(everyFilter[:1:1], "17 wider-than-written spec.match.any[0].resources.operations (warning)")},
		{name: "empty selector", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        selector: {}\n", want: []string{everyFilter[0], "17 bad-selector spec.match.any[0].resources.selector"}},
		{name: "empty labels", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        selector: {matchLabels: {}}\n", want: []string{everyFilter[0], "17 bad-selector spec.match.any[0].resources.selector"}},
		{name: "any label", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        selector: {matchLabels: {'*': '*'}}\n", want: everyFilter},
		{name: "a label", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        selector: {matchLabels: {app: web}}\n"},
		{name: "labels that are absent", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n",
			new: "        selector: {matchExpressions: [{key: x, operator: DoesNotExist}, {key: why, operator: NotIn, values: [z]}]}\n", want: everyFilter},
		{name: "empty namespace selector", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        namespaceSelector: {}\n", want: []string{everyFilter[0], "17 bad-selector spec.match.any[0].resources.namespaceSelector"}},
		{name: "namespace selector", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        namespaceSelector: {matchExpressions: [{key: team, operator: In, values: [a]}]}\n"},
		{name: "namespace selector on Namespace", of: legacy, old: "        kinds: [Deployment]\n        names: [web]\n        namespaces: [team-a]\n",
			new: "        kinds: [Namespace]\n        namespaceSelector: {matchLabels: {team: a}}\n", want: everyFilter},
		{name: "all, narrowed together", of: legacy, old: legacyMatch, new: "  match:\n    all:\n    - resources: {kinds: [Deployment]}\n    - resources: {names: [web]}\n"},
		{name: "all, not narrowed", of: legacy, old: legacyMatch, new: "  match:\n    all:\n    - resources: {kinds: [Deployment]}\n    - resources: {names: ['*']}\n",
			want: []string{"14 matches-everything spec.match.all"}},
		{name: "all, with an empty filter", of: legacy, old: legacyMatch, new: "  match:\n    all:\n    - resources: {kinds: [Deployment], names: [web]}\n    - {}\n",
			want: []string{"16 matches-everything spec.match.all[1]"}},
	}
)

func init() {
	for _, kind := range []string{"*", "?*", "**", "*/*", "*/*/*", "*/*/*/*", "v1/*", "*/scale", "*.*"} {
		matchCases = append(matchCases, change{name: "kind " + kind, of: legacy, old: "[Deployment]", new: "['" + kind + "']",
			want: []string{"15 matches-everything spec.match.any[0]", "16 reaches-guard spec.match.any[0].resources.kinds[0]"}})
	}
	matchCases = append(matchCases, change{name: "any kind of a group", of: legacy, old: "[Deployment]", new: "['apps/v1/*']", want: everyFilter})
	for _, kind := range []string{"apps/v1/Deployment", "v1/Pod", "Pod/exec", "apps/*/Deployment", "*/Deployment", "Deploy*", "Deployment.scale"} {
		matchCases = append(matchCases, change{name: "kind " + kind, of: legacy, old: "[Deployment]", new: "['" + kind + "']"})
	}
}

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

// fieldCase is a value of one field: want is the path of the fault below the field, "." the field itself, and "" no fault.
type fieldCase struct{ name, value, want string }

// inField makes cases of a finding at a place. The texts have a %s for the value.
func inField(finding, old, text string, fields []fieldCase) (cases []change) {
	for _, f := range fields {
		one := change{name: f.name, of: legacy, old: old, new: fmt.Sprintf(text, f.value)}
		if f.want != "" {
			one.want = []string{finding + strings.TrimSuffix(f.want, ".")}
		}
		cases = append(cases, one)
	}
	return cases
}

const backgroundUser = "19 background-user-info spec.match.any[0]."

var userInfoCases = append([]change{
	{name: "clusterRoles in the background", of: legacy, old: legacyMatch, new: legacyMatch + "      clusterRoles: [admin]\n  background: true\n",
		want: []string{backgroundUser + "clusterRoles"}},
	{name: "background not said", of: legacy, old: legacyMatch, new: legacyMatch + "      roles: ['team-a:admin']\n", want: []string{backgroundUser + "roles"}},
	{name: "subjects in the background", of: legacy, old: legacyMatch, new: legacyMatch + "      subjects: [{kind: User, name: alice}]\n",
		want: []string{backgroundUser + "subjects"}},
	{name: "empty lists", of: legacy, old: legacyMatch, new: legacyMatch + "      subjects: []\n"},
}, inField("19 bad-user-info spec.match.any[0].", legacyMatch, legacyMatch+"      %s\n  background: false\n", []fieldCase{
	{"well formed", "roles: ['team-a:admin']", ""},
	{"subjects", "subjects: [{kind: User, name: alice}, {kind: Group, name: ops}, {kind: ServiceAccount, name: ci, namespace: team-a}]", ""},
	{"role without a namespace", "roles: [admin]", "roles[0]"},
	{"role with too much", "roles: ['a:b:c']", "roles[0]"},
	{"unknown subject", "subjects: [{kind: Team, name: ops}]", "subjects[0].kind"},
	{"nameless subject", "subjects: [{kind: User, name: ''}]", "subjects[0].name"},
	{"homeless ServiceAccount", "subjects: [{kind: ServiceAccount, name: ci}]", "subjects[0].namespace"},
})...)

var selectors = []fieldCase{
	{"labels", "{matchLabels: {app: web, example.com/tier: ''}}", ""},
	{"pattern", "{matchLabels: {'app.*': 'web-?'}}", ""},
	{"expressions", "{matchExpressions: [{key: app, operator: In, values: [web]}, {key: old, operator: DoesNotExist}]}", ""},
	{"no labels", "{}", "."},
	{"empty labels", "{matchLabels: {}, matchExpressions: []}", "."},
	{"bad key", "{matchLabels: {'-app': web}}", ".matchLabels.-app"},
	{"bad value", "{matchLabels: {app: 'a web'}}", ".matchLabels.app"},
	{"bad key of an expression", "{matchExpressions: [{key: 'a/b/c', operator: Exists}]}", ".matchExpressions[0].key"},
	{"unknown operator", "{matchExpressions: [{key: app, operator: Equals, values: [web]}]}", ".matchExpressions[0].operator"},
	{"nothing to compare with", "{matchExpressions: [{key: app, operator: In}]}", ".matchExpressions[0]"},
	{"values for nothing", "{matchExpressions: [{key: app, operator: Exists, values: [web]}]}", ".matchExpressions[0].values"},
	{"bad value of an expression", "{matchExpressions: [{key: app, operator: NotIn, values: ['a web']}]}", ".matchExpressions[0].values[0]"},
}

var selectorCases = append(
	inField("18 bad-selector spec.match.any[0].resources.selector", "[web]\n", "[web]\n        selector: %s\n", selectors),
	inField("18 bad-selector spec.match.any[0].resources.namespaceSelector", "[web]\n", "[web]\n        namespaceSelector: %s\n", selectors)...)

var podSecurityCases = inField("10 bad-pod-security spec.podSecurity[0]", "spec:\n", "spec:\n  podSecurity: [%s]\n", []fieldCase{
	{"container control", "{controlName: Capabilities, images: ['example.com/web:*']}", ""},
	{"container control with values", "{controlName: Capabilities, images: ['example.com/*'], restrictedField: 'spec.containers[*].securityContext.capabilities.add', values: [NET_ADMIN]}", ""},
	{"Pod control", "{controlName: Host Namespaces}", ""},
	{"control over both", "{controlName: Seccomp}", ""},
	{"control over both, with images", "{controlName: Seccomp, images: ['example.com/web:*']}", ""},
	{"container control without images", "{controlName: Privileged Containers}", "."},
	{"container control with empty images", "{controlName: /proc Mount Type, images: []}", "."},
	{"Pod control with images", "{controlName: Sysctls, images: [a]}", ".images"},
	{"field without values", "{controlName: Seccomp, restrictedField: spec.securityContext.seccompProfile.type}", ".restrictedField"},
	{"field with empty values", "{controlName: Seccomp, restrictedField: spec.securityContext.seccompProfile.type, values: []}", ".restrictedField"},
	{"values without a field", "{controlName: Seccomp, values: [Unconfined]}", ".values"},
	{"values for an empty field", "{controlName: Seccomp, restrictedField: '', values: [Unconfined]}", ".values"},
})
