package shape_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
	"github.com/polex-dev/polex/test/expect"
)

// limitCases: an exception is named if no authority may sign it.
var limitCases = []change{
	{name: "another namespace of conditions", of: policies, config: signers(exempting("team-b"), exempting("team-c")), want: []string{"10 beyond-limits spec.matchConditions"}},
	{name: "its namespace for one of them", of: policies, config: signers(exempting("team-b"), exempting("team-a"))},
	{name: "another namespace of a match", of: legacy, config: signers(exempting("team-b")), want: []string{"13 beyond-limits spec.match"}},
	{name: "another policy", of: policies, config: signers(policyfile.Limits{Policies: policyfile.Names{"other-*"}}), want: []string{"10 beyond-limits spec.matchConditions"}},
	{name: "a condition that polex does not recognise", of: policies, config: signers(exempting("team-a")), old: plainScope, new: inTeam + " || object.metadata.uid == 'x' && " + inTeam, want: []string{"10 beyond-limits spec.matchConditions"}},
}

func exempting(namespace string) policyfile.Limits {
	return policyfile.Limits{Exempted: policyfile.Names{namespace}}
}

func signers(limits ...policyfile.Limits) (c shape.Config) {
	for _, l := range limits {
		c.Rules.Authorities = append(c.Rules.Authorities, policyfile.Authority{Name: "a", Limits: l})
	}
	return c
}

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

// guarding are rules about PolicyExceptions, and plain are rules that are not about them.
var (
	guarding = []string{
		"name: check, match: {any: [{resources: {kinds: [PolicyException]}}]}",
		"name: check, match: {any: [{resources: {kinds: [Service]}}, {resources: {kinds: [kyverno.io/v2/PolicyException]}}]}",
		"name: check, match: {all: [{resources: {kinds: ['*']}}, {resources: {namespaces: [a]}}]}",
		"name: check, match: {resources: {kinds: [policies.kyverno.io/*/PolicyException]}}",
		"name: check, match: {any: [{resources: {kinds: ['Policy*']}}]}, validate: {manifests: {attestors: []}}",
		"name: check, match: {any: [{resources: {kinds: ['*']}}]}, exclude: {any: [{resources: {kinds: [PolicyException], namespaces: [a]}}]}",
		"name: check, match: {any: [{resources: {kinds: ['*']}}]}, exclude: {any: [{resources: {kinds: [kyverno.io/*/PolicyException]}}]}",
		"name: check, match: {any: [{resources: {kinds: [PolicyException]}}]}, exclude: {any: [{resources: {kinds: [PolicyException/status]}}]}",
		"name: check, match: {any: [{resources: {kinds: ['*']}}]}, exclude: {any: [{resources: {kinds: [PolicyException]}, subjects: [{kind: User, name: a}]}]}",
	}
	plain = []string{
		"name: check, match: {any: [{resources: {kinds: [Deployment]}}]}",
		"name: check, match: {any: [{resources: {kinds: ['apps/*/*']}}]}",
		"name: check, match: {all: [{resources: {kinds: ['*']}}, {resources: {kinds: [Deployment]}}]}",
		"name: check, match: {any: [{resources: {kinds: ['*']}}]}, exclude: {any: [{resources: {kinds: [PolicyException]}}]}",
		"name: check, match: {any: [{resources: {kinds: ['*']}}]}, exclude: {resources: {kinds: [kyverno.io/*/PolicyException, policies.kyverno.io/*/PolicyException]}}",
	}
	onExceptions = []string{
		"{apiGroups: [policies.kyverno.io], apiVersions: ['*'], operations: [CREATE], resources: [policyexceptions]}",
		"{apiGroups: ['*'], apiVersions: ['*'], operations: [CREATE], resources: ['*']}",
		"{apiGroups: [kyverno.io], apiVersions: [v2], operations: [DELETE], resources: ['*/*']}",
		"{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}, {apiGroups: [kyverno.io], apiVersions: [v2], operations: [CREATE], resources: [policyexceptions/status]}",
		"{apiGroups: ['*'], apiVersions: ['*'], operations: [CREATE], resources: ['*']}]\n    excludeResourceRules: [{apiGroups: [kyverno.io], apiVersions: ['*'], operations: ['*'], resources: [policyexceptions]}",
		"{apiGroups: ['*'], apiVersions: ['*'], operations: [CREATE], resources: ['*']}]\n    excludeResourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: [policyexceptions], resourceNames: [a]}",
	}
	onOthers = []string{
		onDeployments,
		"{apiGroups: [apps], apiVersions: ['*'], operations: [CREATE], resources: ['*']}",
		"{apiGroups: ['*'], apiVersions: ['*'], operations: [CREATE], resources: [pods]}",
		"{apiGroups: ['*'], apiVersions: ['*'], operations: [CREATE], resources: ['*']}]\n    excludeResourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: [policyexceptions]}",
	}
)

var guardPolicyCases []change

func init() {
	legacyWant, policiesWant := []string{"11 reaches-guard spec.exceptions[0].policyName"}, []string{"8 reaches-guard spec.policyRefs[0].name"}
	add := func(name, of, policy string, want []string) {
		guardPolicyCases = append(guardPolicyCases, change{name: name, of: of, config: knowing(policy), want: want})
	}
	one := strings.Replace(legacy, "[check, autogen-check]", "[check]", 1)
	for _, rule := range guarding {
		add("a guard: "+rule, one, legacyPolicy("ClusterPolicy", "require-probes", rule), legacyWant)
	}
	for _, rule := range plain {
		add("no guard: "+rule, one, legacyPolicy("ClusterPolicy", "require-probes", rule), nil)
	}
	for _, resources := range onExceptions {
		add("a guard: "+resources, policies, celPolicy("ValidatingPolicy", "require-probes", resources), policiesWant)
	}
	for _, resources := range onOthers {
		add("no guard: "+resources, policies, celPolicy("ValidatingPolicy", "require-probes", resources), nil)
	}
	add("in a namespace", strings.Replace(one, "policyName: require-probes", "policyName: team-a/require-probes", 1), legacyPolicy("Policy", "team-a/require-probes", guarding[0]), legacyWant)
	add("in a namespace that kustomize says", strings.Replace(one, "policyName: require-probes", "policyName: team-a/require-probes", 1), legacyPolicy("Policy", "require-probes", guarding[0]), legacyWant)
	add("named as one for the cluster", one, legacyPolicy("Policy", "team-a/require-probes", guarding[0]), append(legacyWant, "11 unknown-policy spec.exceptions[0].policyName"))
	add("of another kind", policies, celPolicy("DeletingPolicy", "require-probes", onExceptions[0]), append(policiesWant, "8 unknown-policy spec.policyRefs[0].name"))
	add("in other letters", one, legacyPolicy("ClusterPolicy", "Require-Probes", guarding[0]), append(legacyWant, "11 unknown-policy spec.exceptions[0].policyName"))
	add("said once", strings.Replace(one, "policyName: require-probes", "policyName: polex-seal", 1), legacyPolicy("ClusterPolicy", "polex-seal", guarding[0]), legacyWant)
	add("another policy guards", one, legacyPolicy("ClusterPolicy", "require-probes", plain[0])+legacyPolicy("ClusterPolicy", "other", guarding[0]), nil)
	add("a policy of that name of the other group guards", one, legacyPolicy("ClusterPolicy", "require-probes", plain[0])+celPolicy("ValidatingPolicy", "require-probes", onExceptions[0]), nil)
}

// TestGuardsSayWhatTheyAre checks the message of a finding that users may not understand at once.
func TestGuardsSayWhatTheyAre(t *testing.T) {
	for rule, want := range map[string]string{
		guarding[0]: `"require-probes" guards exceptions: its rule "check" matches PolicyException`,
		guarding[4]: `"require-probes" guards exceptions: its rule "check" checks signatures of PolicyExceptions`,
	} {
		for _, f := range (change{of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", rule))}).findings(t) {
			expect.That(t, f.Reason != shape.ReasonReachesGuard || strings.Contains(f.Message, want), "%s", f.Message)
		}
	}
}

// withoutWidth disables the other checks of match conditions.
var withoutWidth = shape.Config{Checks: map[string]shape.Level{shape.ReasonMatchesEverything: shape.LevelOff, shape.ReasonNotProvenNarrow: shape.LevelOff, shape.ReasonMissingKinds: shape.LevelOff}}

func init() {
	for _, expression := range []string{
		"object.metadata.namespace.startsWith('kyv')", "object.metadata.namespace == 'ky' + 'verno'", "object.metadata.namespace.matches('^k.*o$')",
		"object.metadata.namespace.endsWith('-system')", "request.namespace == ['ky', 'verno'].join('')", "namespaceObject.metadata.name == 'polex' + '-system'",
		"object.kind == 'Deployment' && object.metadata.namespace.contains('yverno')", "object.kind == 'Widget' && object.metadata.namespace.contains('yverno')",
		"object.metadata.name == 'web' && object.metadata.namespace.contains('yverno')", "oldObject.metadata.namespace.startsWith('kyv')",
		"request.operation == 'DELETE' && request.namespace.startsWith('kyv')", "request.userInfo.username.startsWith('system:serviceaccount:') && request.namespace.startsWith('kyv')",
		"object.kind == 'Namespace' && object.metadata.name.startsWith('kyv')", "namespaceObject.metadata.labels['kubernetes.io/metadata.name'].startsWith('kyv')",
		"object.metadata.name.startsWith('kyv')", // Namespaces have names
		"size(object.metadata.namespace) == 7 && object.metadata.namespace.startsWith('k')", "object.metadata.namespace in ['ky' + 'verno', 'team-a']",
		"'kyverno-' + object.metadata.name == object.metadata.namespace.replace('kyverno', 'kyverno-') + object.metadata.name", "object.metadata.namespace < 'kyvernp' && object.metadata.namespace > 'kyvern'",
		// Exceptions.
		"object.kind.endsWith('exception'.replace('e', 'E', 1))", "object.kind == 'Policy' + 'Exception'", "object.apiVersion.startsWith('policies.kyverno.io/') && object.metadata.name == 'web'",
		"request.resource.resource.startsWith('policyexc') && object.metadata.namespace == 'team-a'", "request.kind.group == 'kyverno' + '.io'",
		"object.apiVersion == 'kyverno.io/v3' && object.metadata.name == 'web'", // a future version
		"oldObject.kind.contains('yE') && request.operation == 'DELETE'", "object.kind.contains('olicyE') && request.operation == 'UPDATE'",
	} {
		guardCases = append(guardCases, change{name: "reaches by " + expression, of: policies, old: goodCondition, new: quote(expression), config: withoutWidth,
			want: []string{"12 reaches-guard spec.matchConditions[0].expression"}})
	}
	for _, expression := range []string{
		"object.metadata.namespace.startsWith('team-')", "object.metadata.namespace == 'kyverno-demo'", "object.metadata.namespace.startsWith('kyvernos')",
		"object.kind == 'Deployment' && object.metadata.name.startsWith('kyv')", "object.kind == 'Policy' && object.metadata.name == 'web'", "object.apiVersion == 'apps/v3' && object.metadata.name == 'web'",
		"object.kind == 'ClusterRole' && object.metadata.name == 'web'", // has no namespace
	} {
		guardCases = append(guardCases, change{name: "does not reach by " + expression, of: policies, old: goodCondition, new: quote(expression)})
	}
	guardCases = append(guardCases,
		change{name: "what begins like exceptions is a kind too", of: policies, old: goodCondition, new: "object.kind.startsWith('PolicyE')",
			want: []string{"12 matches-everything spec.matchConditions[0].expression", "12 reaches-guard spec.matchConditions[0].expression"}},
		change{name: "two conditions together", of: policies, old: goodCondition,
			new:  "object.metadata.namespace.startsWith('ky')\n  - name: b\n    expression: object.metadata.namespace.endsWith('no')",
			want: []string{"12 reaches-guard spec.matchConditions[0].expression", "14 reaches-guard spec.matchConditions[1].expression"}},
		change{name: "two conditions of which one reaches by itself", of: policies, old: goodCondition,
			new:  "object.metadata.namespace.startsWith('ky')\n  - name: b\n    expression: object.metadata.namespace.endsWith('ny')",
			want: []string{"12 reaches-guard spec.matchConditions[0].expression"}},
		change{name: "a pattern of one's own", of: policies, config: shape.Config{GuardNamespaces: []string{"sec?rity-*"}}, old: goodCondition,
			new: "object.metadata.namespace.startsWith('sec')", want: []string{"12 reaches-guard spec.matchConditions[0].expression"}},
	)
}
