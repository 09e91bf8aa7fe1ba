package shape_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
)

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
			if f.Reason == shape.ReasonReachesGuard && !strings.Contains(f.Message, want) {
				t.Errorf("%s", f.Message)
			}
		}
	}
}
