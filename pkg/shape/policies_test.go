package shape_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

var unknownPolicyCases = []change{
	{name: "it exists", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", checkRule))},
	{name: "it exists in a namespace", of: legacy, config: knowing(legacyPolicy("Policy", "team-a/require-probes", checkRule)), old: "policyName: require-probes", new: "policyName: team-a/require-probes"},
	{name: "it exists in a namespace that kustomize says", of: legacy, config: knowing(legacyPolicy("Policy", "require-probes", checkRule)), old: "policyName: require-probes", new: "policyName: team-a/require-probes"},
	{name: "a kind of the other group exists", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onDeployments))},
	{name: "no policies at all", of: legacy, config: knowing(), want: []string{"11 unknown-policy spec.exceptions[0].policyName"}},
	{name: "misspelt", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probe", checkRule)), want: []string{"11 unknown-policy spec.exceptions[0].policyName"}},
	{name: "in other letters", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "Require-probes", checkRule)), want: []string{"11 unknown-policy spec.exceptions[0].policyName"}},
	{name: "in a namespace, named bare", of: legacy, config: knowing(legacyPolicy("Policy", "team-a/require-probes", checkRule)), want: []string{"11 unknown-policy spec.exceptions[0].policyName"}},
	{name: "in a namespace unsaid, named bare", of: legacy, config: knowing(legacyPolicy("Policy", "require-probes", checkRule)), want: []string{"11 unknown-policy spec.exceptions[0].policyName"}},
	{name: "in another namespace", of: legacy, config: knowing(legacyPolicy("Policy", "team-b/require-probes", checkRule)), old: "policyName: require-probes", new: "policyName: team-a/require-probes",
		want: []string{"11 unknown-policy spec.exceptions[0].policyName"}},
	{name: "for the cluster, named with a namespace", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", checkRule)), old: "policyName: require-probes", new: "policyName: team-a/require-probes",
		want: []string{"11 unknown-policy spec.exceptions[0].policyName"}},
	{name: "of the other group", of: legacy, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onDeployments)), want: []string{"11 unknown-policy spec.exceptions[0].policyName"}},
	{name: "of another kind", of: policies, config: knowing(celPolicy("MutatingPolicy", "require-probes", onDeployments)), want: []string{"8 unknown-policy spec.policyRefs[0].name"}},
	{name: "of no kind there is", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onDeployments)), old: "kind: ValidatingPolicy", new: "kind: ValidatngPolicy",
		want: []string{"9 unknown-policy-kind spec.policyRefs[0].kind"}},
	{name: "a pattern is for another check", of: legacy, config: knowing(), old: "policyName: require-probes", new: "policyName: require-*",
		want: []string{"11 wildcard-policy spec.exceptions[0].policyName (warning)"}},
}

var probes = legacyPolicy("ClusterPolicy", "require-probes", checkRule, "name: other, match: {any: [{resources: {kinds: [Service]}}]}, validate: {pattern: {a: b}}")

var unknownRuleCases = []change{
	{name: "each exists", of: legacy, config: knowing(probes), old: "[check, autogen-check]", new: "[check, autogen-check, autogen-cronjob-check, other]"},
	{name: "a pattern fits some", of: legacy, config: knowing(probes), old: "autogen-check", new: "autogen-*", want: []string{"12 wildcard-rule spec.exceptions[0].ruleNames[1] (warning)"}},
	{name: "misspelt", of: legacy, config: knowing(probes), old: "[check, autogen-check]", new: "[chekc, autogen-check]", want: []string{"12 unknown-rule spec.exceptions[0].ruleNames[0]"}},
	{name: "in other letters", of: legacy, config: knowing(probes), old: "[check, autogen-check]", new: "[Check, autogen-check]", want: []string{"12 unknown-rule spec.exceptions[0].ruleNames[0]"}},
	{name: "a pattern fits none", of: legacy, config: knowing(probes), old: "[check, autogen-check]", new: "['look-*', autogen-check]",
		want: []string{"12 unknown-rule spec.exceptions[0].ruleNames[0]", "12 wildcard-rule spec.exceptions[0].ruleNames[0] (warning)"}},
	{name: "made of no rule for Services", of: legacy, config: knowing(probes), old: "[check, autogen-check]", new: "[autogen-check, autogen-other]",
		want: []string{"12 unknown-rule spec.exceptions[0].ruleNames[1]"}},
	{name: "of the policy in another cluster", of: legacy, config: knowing(probes, legacyPolicy("ClusterPolicy", "require-probes", "name: extra, match: {any: [{resources: {kinds: [Service]}}]}")),
		old: "[check, autogen-check]", new: "[check, autogen-check, extra]"},
	{name: "of a policy that is unknown", of: legacy, config: knowing(probes), old: "policyName: require-probes\n    ruleNames: [check", new: "policyName: nothing-alike\n    ruleNames: [what",
		want: []string{"11 unknown-policy spec.exceptions[0].policyName"}},
}

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

// documents reads a stream of documents that the test wrote.
func documents(stream string) []*exception.Document {
	docs, err := parseAll([]byte(stream), "set.yaml")
	if err != nil {
		panic(err)
	}
	return docs
}

// legacyPolicy returns a kyverno.io policy. Its rules are flow mappings.
func legacyPolicy(kind, name string, rules ...string) string {
	var b strings.Builder
	if namespace, bare, namespaced := strings.Cut(name, "/"); namespaced {
		name = bare + "\n  namespace: " + namespace
	}
	fmt.Fprintf(&b, "---\napiVersion: kyverno.io/v1\nkind: %s\nmetadata:\n  name: %s\nspec:\n  rules:\n", kind, name)
	for _, rule := range rules {
		b.WriteString("  - {" + rule + "}\n")
	}
	return b.String()
}

const onPods = "match: {any: [{resources: {kinds: [Pod]}}]}"

// checkRule is a rule for Pods from which Kyverno generates others.
const checkRule = "name: check, " + onPods + ", validate: {pattern: {spec: {x: z}}}"

func celPolicy(kind, name, resources string) string {
	return fmt.Sprintf("---\napiVersion: policies.kyverno.io/v1\nkind: %s\nmetadata:\n  name: %s\nspec:\n  matchConstraints:\n    resourceRules: [%s]\n", kind, name, resources)
}

const onDeployments = "{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}"

const onPodsCEL = "{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}"

// knowing returns a configuration with policies.
func knowing(policies ...string) shape.Config {
	return shape.Config{Policies: shape.ReadPolicies(documents(strings.Join(policies, "")))}
}

func TestPolicySet(t *testing.T) {
	set := shape.ReadPolicies(documents(strings.Replace(legacyPolicy("ClusterPolicy", "require-probes", checkRule), "name: require-probes", "name: require-probes\n  annotations: {policies.kyverno.io/severity: high}", 1) +
		legacyPolicy("Policy", "team-a/own", checkRule) +
		celPolicy("ValidatingPolicy", "require-probes", onDeployments) +
		"---\nkind: Test\napiVersion: cli.kyverno.io/v1alpha1\nmetadata: {name: t}\n---\nreplicas: 3\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: kyverno.io/v2beta1, kind: ClusterPolicy, metadata: {name: listed}}\n- 3\n" +
		"---\napiVersion: kyverno.io/v2\nkind: CleanupPolicy\nmetadata: {name: c}\n---\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\n"))
	expect.Is(t, "policies", 4, set.Len())
	for source, want := range map[string][]string{
		legacy:   {"ClusterPolicy.kyverno.io require-probes high"},
		policies: {"ValidatingPolicy.policies.kyverno.io require-probes "},
		strings.Replace(legacy, "policyName: require-probes", "policyName: team-a/own", 1): {"Policy.kyverno.io team-a/own "},
		strings.Replace(legacy, "policyName: require-probes", "policyName: own", 1):        nil,
	} {
		var got []string
		for _, ref := range kyverno.Read(change{of: source}.document(t)).Refs {
			for _, p := range set.Find(ref) {
				got = append(got, p.String()+" "+p.Severity)
			}
		}
		expect.Equal(t, "result", want, got)
	}
}

func TestCalled(t *testing.T) {
	docs := must.Get(parseAll([]byte(`apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: a, annotations: {pod-policies.kyverno.io/autogen-controllers: "Deployment,CronJob"}}
spec:
  rules:
  - {name: standards, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {podSecurity: {level: baseline}}}
  - {name: images, match: {any: [{resources: {kinds: [Pod]}}]}, verifyImages: [{imageReferences: ["*"]}]}
  - {name: services, match: {any: [{resources: {kinds: [Service]}}]}, validate: {pattern: {spec: {a: b}}}}
---
apiVersion: kyverno.io/v1
kind: Policy
metadata: {name: a, namespace: team-a}
spec: {rules: []}
---
apiVersion: kyverno.io/v1
kind: Policy
metadata: {name: homeless}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: a}
spec: {matchConstraints: {resourceRules: [{resources: [services]}, {resources: [pods]}]}}
---
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: b}
spec: {matchConstraints: {resourceRules: [{resources: [services]}]}}
`), "policies.yaml"))(t)
	set := shape.ReadPolicies(docs)
	for name, want := range map[string][]string{
		"a": {"ClusterPolicy.kyverno.io a", "Policy.kyverno.io team-a/a", "ValidatingPolicy.policies.kyverno.io a about Pods"}, "b": {"MutatingPolicy.policies.kyverno.io b"},
		// A name with a namespace is that of a policy there, or of one without a namespace in its document.
		"team-a/a": {"Policy.kyverno.io team-a/a"}, "team-b/a": nil, "c": nil,
		"team-a/homeless": {"Policy.kyverno.io homeless"}, "homeless": {"Policy.kyverno.io homeless"},
	} {
		var got []string
		for _, known := range set.Called(name) {
			line := known.String()
			if known.AboutPods {
				line += " about Pods"
			}
			got = append(got, line)
		}
		expect.Equal(t, name, want, got)
	}
	want := []kyverno.Rule{
		{Name: "standards", PodSecurity: true, Baseline: true, Made: map[string]string{"Deployment": "autogen-standards", "CronJob": "autogen-cronjob-standards"}},
		{Name: "images", Early: true, Made: map[string]string{"Deployment": "autogen-images", "CronJob": "autogen-cronjob-images"}},
		{Name: "services", Made: map[string]string{}},
	}
	expect.Equal(t, "result", want, set.Called("a")[0].Rules, cmpopts.IgnoreUnexported(kyverno.Rule{}))
}

var (
	baseline = legacyPolicy("ClusterPolicy", "require-probes", "name: check, "+onPods+", validate: {podSecurity: {level: baseline, version: latest}}", "name: other, "+onPods+", validate: {pattern: {a: b}}")
	controls = legacy + "  podSecurity:\n  - controlName: Capabilities\n    images: [nginx*]\n"
)

var uselessPodSecurityCases = []change{
	{name: "of a podSecurity rule", of: controls, config: knowing(baseline)},
	{name: "of the form for controllers", of: controls, config: knowing(baseline), old: "[check, autogen-check]", new: "[autogen-check]", want: []string{"12 autogen-rules spec.exceptions[0].ruleNames (warning)"}},
	{name: "beside another rule", of: controls, config: knowing(baseline), old: "autogen-check]", new: "autogen-check, other, autogen-other]"},
	{name: "of another rule", of: controls, config: knowing(baseline), old: "[check, autogen-check]", new: "[autogen-other]", want: []string{"12 autogen-rules spec.exceptions[0].ruleNames (warning)", "19 useless-pod-security spec.podSecurity"}},
	{name: "a field that no control checks", of: controls, config: knowing(baseline), old: "[nginx*]", new: "[nginx*]\n    restrictedField: spec.containers[*].securityContext.capability.add\n    values: [SYS_ADMIN]", want: []string{"20 never-matches spec.podSecurity[0]"}},
	{name: "of another policy", of: controls, config: knowing(probes), want: []string{"19 useless-pod-security spec.podSecurity"}},
	{name: "of one that is unknown", of: controls, config: knowing(), want: []string{"11 unknown-policy spec.exceptions[0].policyName"}},
	{name: "without controls", of: legacy, config: knowing(probes)},
}
