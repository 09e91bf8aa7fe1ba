package shape_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/expect"
)

var autogenCases = []change{
	{name: "a controller and its form", of: legacy, config: knowing(probes), old: "[check, autogen-check]", new: "[autogen-check]", want: []string{"12 autogen-rules spec.exceptions[0].ruleNames (warning)"}},
	{name: "a CronJob and its form", of: legacy, config: knowing(probes), old: "[check, autogen-check]\n  match:\n    any:\n    - resources:\n        kinds: [Deployment]",
		new: "[autogen-cronjob-check]\n  match:\n    any:\n    - resources:\n        kinds: [CronJob]", want: []string{"12 autogen-rules spec.exceptions[0].ruleNames (warning)"}},
	{name: "a CronJob and its Jobs", of: legacy, config: knowing(probes), old: "[check, autogen-check]\n  match:\n    any:\n    - resources:\n        kinds: [Deployment]",
		new: "[autogen-check, autogen-cronjob-check]\n  match:\n    any:\n    - resources:\n        kinds: [CronJob, Job]", want: []string{"12 autogen-rules spec.exceptions[0].ruleNames (warning)"}},
	{name: "a controller, its Pods and all rules", of: legacy, config: knowing(probes), old: "[Deployment]", new: "[CronJob, Job, Pod]",
		want: []string{"12 autogen-rules spec.exceptions[0].ruleNames (warning)"}},
	{name: "a policy that may ignore what controllers create", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", "name: check, "+onPods+", validate: {cel: {expressions: [{expression: '!has(object.metadata.ownerReferences)'}]}}")), old: "[check, autogen-check]", new: "[autogen-check]"},
	{name: "a condition for a controller alone", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onPodsCEL)), old: "object.metadata.name == 'web'", new: "object.kind in ['Deployment', 'StatefulSet']",
		want: []string{"12 autogen-rules spec.matchConditions[0].expression (warning)"}},
	{name: "a condition for a controller and its Pods", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onPodsCEL)), old: "object.metadata.name == 'web'", new: "object.kind in ['Deployment', 'Pod']"},
	{name: "a condition without a kind", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onPodsCEL))},
	{name: "a condition, and a policy for controllers too", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", "{apiGroups: ['', apps], apiVersions: [v1], operations: [CREATE], resources: [pods, deployments]}")), old: "object.metadata.name == 'web'", new: "object.kind == 'Deployment'"},
	{name: "a condition, and a policy that denies nothing", of: replaced(policies, "kind: ValidatingPolicy", "kind: MutatingPolicy"), config: knowing(celPolicy("MutatingPolicy", "require-probes", onPodsCEL)), old: "object.metadata.name == 'web'", new: "object.kind == 'Deployment'"},
	{name: "a controller and the rule alone", of: legacy, config: knowing(probes), old: "[check, autogen-check]", new: "[check]", want: []string{"16 never-matches spec.match.any[0].resources.kinds"}},
	{name: "a Pod too, and the form alone", of: legacy, config: knowing(probes), old: "[check, autogen-check]\n  match:\n    any:\n    - resources:\n        kinds: [Deployment]",
		new: "[autogen-check]\n  match:\n    any:\n    - resources:\n        kinds: [v1/Pod, apps/v1/Deployment]", want: []string{"12 autogen-rules spec.exceptions[0].ruleNames (warning)"}},
	{name: "a CronJob and the form of the others", of: legacy, config: knowing(probes), old: "[Deployment]", new: "[batch/v1/CronJob]", want: []string{"16 never-matches spec.match.any[0].resources.kinds"}},
	{name: "Pods alone and a form", of: legacy, config: knowing(probes), old: "[Deployment]", new: "[Pod]", want: []string{"12 autogen-rules spec.exceptions[0].ruleNames[1] (warning)"}},
	{name: "Pods alone and only a form", of: legacy, config: knowing(probes), old: "[check, autogen-check]\n  match:\n    any:\n    - resources:\n        kinds: [Deployment]",
		new:  "[autogen-check]\n  match:\n    any:\n    - resources:\n        kinds: [Pod]",
		want: []string{"16 never-matches spec.match.any[0].resources.kinds"}},
	{name: "Pods alone and the rule", of: legacy, config: knowing(probes), old: "[check, autogen-check]\n  match:\n    any:\n    - resources:\n        kinds: [Deployment]",
		new: "[check]\n  match:\n    any:\n    - resources:\n        kinds: [Pod]"},
	{name: "a subresource is no Pod", of: legacy, config: knowing(probes), old: "[Deployment]", new: "[Pod/exec]", want: []string{"16 never-matches spec.match.any[0].resources.kinds"}},
	{name: "neither", of: legacy, config: knowing(probes), old: "[check, autogen-check]\n  match:\n    any:\n    - resources:\n        kinds: [Deployment]",
		new: "[other]\n  match:\n    any:\n    - resources:\n        kinds: [Deployment, Service]"},
	{name: "a pattern for the kind", of: legacy, config: knowing(probes), old: "[check, autogen-check]\n  match:\n    any:\n    - resources:\n        kinds: [Deployment]",
		new: "[check]\n  match:\n    any:\n    - resources:\n        kinds: [Deploy*]", want: []string{"16 never-matches spec.match.any[0].resources.kinds"}},
	{name: "a kind of another group", of: legacy, config: knowing(probes), old: "[check, autogen-check]\n  match:\n    any:\n    - resources:\n        kinds: [Deployment]",
		new: "[check]\n  match:\n    any:\n    - resources:\n        kinds: [example.com/v1/Deployment]", want: []string{"16 never-matches spec.match.any[0].resources.kinds"}},
}

func TestAutogenRulesHints(t *testing.T) {
	hasHint(t, autogenCases, "a controller and the rule alone", `add "autogen-check"`)
	hasHint(t, autogenCases, "a Pod too, and the form alone", `add "check"`)
	hasHint(t, autogenCases, "a CronJob and the form of the others", `add "autogen-cronjob-check"`)
	hasHint(t, autogenCases, "a controller and its form", `add "check" to ruleNames, "Pod" to kinds, and names such as web-*`)
	hasHint(t, autogenCases, "a CronJob and its form", `add "autogen-check", "check" to ruleNames, "Job", "Pod" to kinds`)
	hasHint(t, autogenCases, "a condition for a controller alone", `compare object.kind with "Pod" too`)
	hasHint(t, autogenCases, "Pods alone and a form", `add the controllers to kinds`)
}

// TestAutogen lists the rules that Kyverno generates from a policy's rules. An exception can name them.
func TestAutogen(t *testing.T) {
	const validate = ", validate: {pattern: {spec: {x: z}}}"
	both := "autogen-check autogen-cronjob-check"
	for _, tc := range []struct{ name, annotations, rule, more, want string }{
		{name: "a rule for Pods", rule: onPods + validate, want: both},
		{name: "of a version", rule: "match: {any: [{resources: {kinds: [v1/Pod]}}]}" + validate},
		{name: "of a version, beside another for Pods", rule: "match: {any: [{resources: {kinds: [v1/Pod]}}]}" + validate, more: "name: second, " + onPods, want: both},
		{name: "the old form of match", rule: "match: {resources: {kinds: [Pod]}}" + validate, want: both},
		{name: "in match.all", rule: "match: {all: [{resources: {kinds: [Pod]}}, {resources: {namespaces: [a]}}]}" + validate, want: both},
		{name: "Pods and controllers", rule: "match: {any: [{resources: {kinds: [Pod, Deployment]}}]}" + validate},
		{name: "Pods and controllers in filters of their own", rule: "match: {any: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Deployment]}}]}" + validate, want: both},
		{name: "controllers alone", rule: "match: {any: [{resources: {kinds: [Deployment]}}]}" + validate},
		{name: "by name", rule: "match: {any: [{resources: {kinds: [Pod], name: web}}]}" + validate},
		{name: "by names", rule: "match: {any: [{resources: {kinds: [Pod], names: [web]}}]}" + validate},
		{name: "by labels", rule: "match: {any: [{resources: {kinds: [Pod], selector: {matchLabels: {a: b}}}}]}" + validate},
		{name: "by annotations", rule: "match: {any: [{resources: {kinds: [Pod], annotations: {a: b}}}]}" + validate},
		{name: "by namespace", rule: "match: {any: [{resources: {kinds: [Pod], namespaces: [a]}}]}" + validate, want: both},
		{name: "a name in exclude", rule: onPods + ", exclude: {any: [{resources: {kinds: [Pod], name: web}}]}" + validate},
		{name: "another kind in exclude", rule: onPods + ", exclude: {any: [{resources: {kinds: [Service]}}]}" + validate},
		{name: "Pods in exclude", rule: onPods + ", exclude: {any: [{resources: {kinds: [Pod], namespaces: [a]}}]}" + validate, want: both},
		{name: "another rule by name", rule: onPods + validate, more: "name: second, match: {any: [{resources: {kinds: [Service], name: web}}]}"},
		{name: "another rule generates", rule: onPods + validate, more: "name: second, match: {any: [{resources: {kinds: [Namespace]}}]}, generate: {kind: ConfigMap}"},
		{name: "an empty generate", rule: onPods + validate, more: "name: second, match: {any: [{resources: {kinds: [Namespace]}}]}, generate: {}", want: both},
		{name: "a JSON patch", rule: onPods + ", mutate: {patchesJson6902: '- op: add'}"},
		{name: "a JSON patch for each", rule: onPods + ", mutate: {foreach: [{list: x, patchesJson6902: '- op: add'}]}"},
		{name: "a patch", rule: onPods + ", mutate: {patchStrategicMerge: {a: b}}", want: both},
		{name: "images", rule: onPods + ", verifyImages: [{imageReferences: ['*']}]", want: both},
		{name: "a condition", rule: onPods + ", validate: {deny: {conditions: {}}}", want: both},
		{name: "CEL", rule: onPods + ", validate: {cel: {expressions: []}}", want: both},
		{name: "a manifest's signature", rule: onPods + ", validate: {manifests: {attestors: []}}"},
		{name: "turned off", annotations: "none", rule: onPods + validate},
		{name: "some controllers", annotations: "Deployment,Job", rule: onPods + validate, want: "autogen-check"},
		{name: "CronJob alone", annotations: "CronJob", rule: onPods + validate, want: "autogen-cronjob-check"},
		{name: "controllers with a space", annotations: "Deployment, CronJob", rule: onPods + validate, want: "autogen-check"},
		{name: "all", annotations: "all", rule: onPods + validate, want: both},
	} {
		rules := []string{"name: check, " + tc.rule}
		if tc.more != "" {
			rules = append(rules, tc.more)
		}
		policy := legacyPolicy("ClusterPolicy", "require-probes", rules...)
		if tc.annotations != "" {
			policy = strings.Replace(policy, "name: require-probes", "name: require-probes\n  annotations: {pod-policies.kyverno.io/autogen-controllers: '"+tc.annotations+"'}", 1)
		}
		var got []string
		for _, name := range []string{"autogen-check", "autogen-cronjob-check"} {
			c := change{of: legacy, config: knowing(policy), old: "check, autogen-check", new: name}
			known := true
			for _, f := range c.findings(t) {
				known = known && f.Reason != "unknown-rule"
			}
			if known {
				got = append(got, name)
			}
		}
		expect.Is(t, tc.name, tc.want, strings.Join(got, " "))
	}
}

func TestAutogenNamesAreCut(t *testing.T) {
	long := strings.Repeat("x", 60)
	policy := legacyPolicy("ClusterPolicy", "require-probes", strings.Replace(checkRule, "name: check", "name: "+long, 1))
	c := change{of: legacy, config: knowing(policy), old: "check, autogen-check", new: long + ", autogen-" + long[:55] + ", autogen-cronjob-" + long[:47]}
	expect.Empty(t, "findings", c.findings(t))
}
