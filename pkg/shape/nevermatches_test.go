package shape_test

import "strings"

// A match that holds for a Deployment of team-a, from the rule autogen-check.
const (
	scopeOfLegacy = "kinds: [Deployment]\n        names: [web]\n        namespaces: [team-a]"
	rulesOfLegacy = "[check, autogen-check]\n  match:\n    any:\n    - resources:\n        " + scopeOfLegacy
	onlyCheck     = "[check]\n  match:\n    any:\n    - resources:\n        "
	restOfMatch   = "\n        names: [web]\n        namespaces: [team-a]"
)

func about(match string) string {
	return legacyPolicy("ClusterPolicy", "require-probes", "name: check, match: "+match+", validate: {deny: {}}")
}

// readsImages is a policy whose expression reads the images of exceptions.
var readsImages = celPolicy("ValidatingPolicy", "require-probes", onPodsCEL) +
	"  validations: [{expression: 'object.spec.containers.all(c, c.image in exceptions.allowedImages)'}]\n"

const (
	inTeam   = "object.kind == 'Pod' && object.metadata.namespace == 'team-a'"
	onlyTeam = "object.kind == 'Deployment' && object.metadata.namespace == 'team-a'"
)

// misspelt is a case of a condition with a mistake.
func misspelt(condition, level string) change {
	return change{name: condition, of: policies, old: plainScope, new: quote(condition),
		want: dead("12 never-matches spec.matchConditions[0].expression" + level)}
}

// constant is a case of conditions of kyverno.io that never change.
func constant(conditions, path string) change {
	return change{name: conditions, of: legacy, old: scopeOfLegacy, new: scopeOfLegacy + "\n  conditions: " + conditions,
		want: dead("19 never-matches spec.conditions" + path)}
}

// wide is a case of a condition that leaves the namespace open.
func wide(condition string) change {
	return change{name: condition, of: policies, old: plainScope, new: condition,
		want: []string{"12 wider-than-written spec.matchConditions[0].expression (warning)"}}
}

func dead(path string) []string { return []string{path} }

// neverCases: TestNeverMatches of test/e2e shows that Kyverno's own program agrees.
var neverCases = []change{
	// One filter contradicts itself; no policy is needed.
	{name: "a namespace for a kind without one", of: legacy, old: "[Deployment]", new: "[ClusterRole]", want: dead("18 never-matches spec.match.any[0].resources.namespaces")},
	{name: "with its group", of: legacy, old: "[Deployment]", new: "[rbac.authorization.k8s.io/v1/ClusterRole]", want: dead("18 never-matches spec.match.any[0].resources.namespaces")},
	{name: "any namespace", of: legacy, old: scopeOfLegacy, new: "kinds: [ClusterRole]\n        names: [web]\n        namespaces: ['*']",
		want: []string{"18 reaches-guard spec.match.any[0].resources.namespaces[0]", "18 wildcard-match spec.match.any[0].resources.namespaces[0]"}},
	{name: "of a custom kind of that name", of: legacy, old: "[Deployment]", new: "[example.com/v1/ClusterRole]"},
	{name: "Node may be longhorn's", of: legacy, old: "[Deployment]", new: "[Node]"},
	{name: "Node of Kubernetes", of: legacy, old: "[Deployment]", new: "['/v1/Node']", want: dead("18 never-matches spec.match.any[0].resources.namespaces")},
	{name: "one kind has a namespace", of: legacy, old: "[Deployment]", new: "[ClusterRole, Role]"},
	{name: "a Namespace is in itself", of: legacy, old: "[Deployment]", new: "[Namespace]"},
	{name: "a variable for a namespace", of: legacy, old: "[team-a]", new: "['${ns}']", want: dead("18 never-matches spec.match.any[0].resources.namespaces")},
	{name: "beside a namespace", of: legacy, old: "[team-a]", new: "['${ns}', team-a]"},
	{name: "a variable for a name", of: legacy, old: "[web]", new: "['{{ request.object.metadata.name }}']", want: dead("17 never-matches spec.match.any[0].resources.names")},
	{name: "a regular expression for a name", of: legacy, old: "[web]", new: "['web-.*']", want: dead("17 never-matches spec.match.any[0].resources.names")},
	{name: "an anchor in a name", of: legacy, old: "[web]", new: "['^web*']", want: dead("17 never-matches spec.match.any[0].resources.names")},
	{name: "a role's name", of: legacy, old: "kinds: [Deployment]\n        names: [web]", new: "kinds: [Role]\n        names: ['system:web']"},
	{name: "two filters of all", of: legacy, old: "any:\n    - resources:\n        " + scopeOfLegacy,
		new: "all:\n    - resources: {kinds: [Deployment], names: [web]}\n    - resources: {kinds: [Deployment], names: [api]}", want: dead("15 never-matches spec.match.all[0].resources.names")},
	{name: "two conditions", of: policies, old: "object.metadata.name == 'web'", new: "object.kind == 'Pod' && object.kind == 'Job'", want: dead("12 never-matches spec.matchConditions[0].expression")},

	{name: "a capital in the name of a Deployment", of: legacy, old: "[web]", new: "[Legacy]", want: dead("17 never-matches spec.match.any[0].resources.names")},
	{name: "two names in one", of: legacy, old: "[web]", new: "['a, b']", want: dead("17 never-matches spec.match.any[0].resources.names")},
	{name: "an underscore", of: legacy, old: "[web]", new: "['my_*']", want: dead("17 never-matches spec.match.any[0].resources.names")},
	{name: "a namespace that begins with a dash", of: legacy, old: "[team-a]", new: "[-team-a]", want: dead("18 never-matches spec.match.any[0].resources.namespaces")},
	{name: "a capital in a condition", of: policies, old: plainScope, new: "object.metadata.name == 'Web' && " + inTeam, want: dead("12 never-matches spec.matchConditions[0].expression")},
	{name: "a capital beside another name", of: legacy, old: "[web]", new: "[Legacy, web]"},
	{name: "a capital in the name of a role", of: legacy, old: "kinds: [Deployment]\n        names: [web]", new: "kinds: [Role]\n        names: ['My:role']"},
	{name: "a capital in the name of a role or a Deployment", of: legacy, old: "kinds: [Deployment]\n        names: [web]", new: "kinds: [Role, Deployment]\n        names: [My_role]"},
	{name: "a capital in the name of a custom kind", of: legacy, old: "kinds: [Deployment]\n        names: [web]", new: "kinds: [Thing]\n        names: [My_thing]"},
	{name: "the beginning of a generated name", of: legacy, old: "[web]", new: "[web-, a.b]"},

	// The rule is about something else.
	{name: "another kind", of: legacy, config: knowing(about("{any: [{resources: {kinds: [Service]}}]}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy, want: dead("16 never-matches spec.match.any[0].resources.kinds")},
	{name: "another version", of: legacy, config: knowing(about("{any: [{resources: {kinds: [apps/v1/Deployment]}}]}")), old: rulesOfLegacy, new: onlyCheck + "kinds: [extensions/v1beta1/Deployment]" + restOfMatch, want: dead("16 never-matches spec.match.any[0].resources.kinds")},
	{name: "a subresource", of: legacy, config: knowing(about("{any: [{resources: {kinds: [Deployment/scale]}}]}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy, want: dead("16 never-matches spec.match.any[0].resources.kinds")},
	{name: "that subresource", of: legacy, config: knowing(about("{any: [{resources: {kinds: [Deployment/scale]}}]}")), old: rulesOfLegacy, new: onlyCheck + "kinds: [Deployment/scale]" + restOfMatch},
	{name: "ephemeral containers of Pods", of: legacy, config: knowing(about("{any: [{resources: {kinds: [Pod]}}]}")), old: rulesOfLegacy, new: onlyCheck + "kinds: [Pod/ephemeralcontainers]" + restOfMatch},
	{name: "in lower case", of: legacy, config: knowing(about("{any: [{resources: {kinds: [Deployment]}}]}")), old: rulesOfLegacy, new: onlyCheck + "kinds: [deployment]" + restOfMatch,
		want: []string{"16 never-matches spec.match.any[0].resources.kinds", "16 unknown-kind spec.match.any[0].resources.kinds[0] (warning)"}},
	{name: "another namespace", of: legacy, config: knowing(about("{any: [{resources: {kinds: [Deployment], namespaces: [team-b, 'c-*']}}]}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy, want: dead("18 never-matches spec.match.any[0].resources.namespaces")},
	{name: "another name", of: legacy, config: knowing(about("{any: [{resources: {kinds: [Deployment], names: ['api-*']}}]}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy, want: dead("17 never-matches spec.match.any[0].resources.names")},
	{name: "a namespace that the rule excludes", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", "name: check, match: {any: [{resources: {kinds: [Deployment]}}]}, exclude: {any: [{resources: {namespaces: [kube-system, 'team-*']}}]}, validate: {deny: {}}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy, want: dead("18 never-matches spec.match.any[0].resources.namespaces")},
	{name: "a name that it excludes", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", "name: check, match: {any: [{resources: {kinds: [Deployment]}}]}, exclude: {any: [{resources: {names: [web], namespaces: [team-a]}}]}, validate: {deny: {}}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy, want: dead("18 never-matches spec.match.any[0].resources.namespaces")},
	{name: "another name in that namespace", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", "name: check, match: {any: [{resources: {kinds: [Deployment]}}]}, exclude: {any: [{resources: {names: [api], namespaces: [team-a]}}]}, validate: {deny: {}}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy},
	{name: "a namespace that it excludes for users", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", "name: check, match: {any: [{resources: {kinds: [Deployment]}}]}, exclude: {any: [{resources: {namespaces: [team-a]}, subjects: [{kind: User, name: a}]}]}, validate: {deny: {}}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy},
	{name: "a namespace that it excludes for labels", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", "name: check, match: {any: [{resources: {kinds: [Deployment]}}]}, exclude: {any: [{resources: {namespaces: [team-a], selector: {matchLabels: {a: b}}}}]}, validate: {deny: {}}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy},
	{name: "a namespace that it excludes for a kind", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", "name: check, match: {any: [{resources: {kinds: [Deployment]}}]}, exclude: {any: [{resources: {namespaces: [team-a], kinds: [Deployment]}}]}, validate: {deny: {}}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy},
	{name: "one filter of two", of: legacy, config: knowing(about("{any: [{resources: {kinds: [Service]}}, {resources: {kinds: [Deployment]}}]}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy},
	{name: "one of all", of: legacy, config: knowing(about("{all: [{resources: {kinds: ['*']}}, {resources: {kinds: [Service]}}]}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy, want: dead("16 never-matches spec.match.any[0].resources.kinds")},
	{name: "the old form of match", of: legacy, config: knowing(about("{resources: {kinds: [Service]}}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy, want: dead("16 never-matches spec.match.any[0].resources.kinds")},
	{name: "every kind", of: legacy, config: knowing(about("{any: [{resources: {kinds: ['*']}}]}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy, want: dead("11 reaches-guard spec.exceptions[0].policyName")},
	{name: "another document of the policy", of: legacy, config: knowing(about("{any: [{resources: {kinds: [Service]}}]}"), about("{any: [{resources: {kinds: [Deployment]}}]}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy},
	{name: "a rule that cannot be read", of: legacy, config: knowing(about("{any: [{resources: {kinds: Service}}]}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy},
	{name: "a Policy of another namespace", of: legacy, config: knowing(legacyPolicy("Policy", "team-b/own", "name: check, match: {any: [{resources: {kinds: [Deployment]}}]}, validate: {deny: {}}")),
		old: "policyName: require-probes\n    ruleNames: " + rulesOfLegacy, new: "policyName: team-b/own\n    ruleNames: " + onlyCheck + scopeOfLegacy, want: dead("18 never-matches spec.match.any[0].resources.namespaces")},
	{name: "one policy of two", of: legacy, config: knowing(about("{any: [{resources: {kinds: [Deployment]}}]}"), legacyPolicy("ClusterPolicy", "services", "name: s, match: {any: [{resources: {kinds: [Service]}}]}, validate: {deny: {}}")),
		old: rulesOfLegacy, new: "[check]\n  - policyName: services\n    ruleNames: [s]\n  match:\n    any:\n    - resources:\n        " + scopeOfLegacy, want: dead("13 never-matches spec.exceptions[1]")},
	{name: "one filter of the exception", of: legacy, config: knowing(about("{any: [{resources: {kinds: [Deployment]}}]}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy + "\n    - resources: {kinds: [Service], names: [web]}", want: dead("19 never-matches spec.match.any[1].resources.kinds")},

	{name: "a rule with variables of a tool", of: legacy, config: knowing(about("{any: [{resources: {kinds: ['${kind}'], namespaces: ['${team}'], names: ['{{ name }}-*']}}]}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy},
	{name: "a policy without a namespace that has one in its file", of: policies, config: knowing(strings.Replace(celPolicy("ValidatingPolicy", "require-probes", onDeployments), "metadata:", "metadata:\n  namespace: green", 1)), old: goodCondition, new: quote(plainScope)},
	{name: "a volume of longhorn", of: legacy, old: "[Deployment]", new: "[VolumeAttachment]"},

	// Match conditions.
	{name: "a pair of the namespace twice", of: policies, old: plainScope, new: "object.metadata.namespace + '/' + object.metadata.namespace == 'team-a/team-a' && object.metadata.name == 'web'"},
	{name: "a pair", of: policies, old: plainScope, new: "object.metadata.namespace + '/' + object.metadata.name == 'team-a/web' && object.metadata.name == 'api'", want: dead("12 never-matches spec.matchConditions[0].expression")},
	{name: "the request of another object", of: policies, old: "kind: ValidatingPolicy\n  matchConditions:\n  - name: web\n    expression: " + plainScope, new: "kind: MutatingPolicy\n  matchConditions:\n  - name: web\n    expression: object.metadata.name == 'web' && request.name == 'api' && object.metadata.namespace == 'team-a'"},
	{name: "a kind that the constraints lack", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onDeployments)), old: "object.metadata.name == 'web'", new: "object.kind == 'Service'", want: dead("12 never-matches spec.matchConditions[0].expression")},
	{name: "beside a part that is not plain", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onDeployments)), old: "object.metadata.name == 'web'", new: "object.spec.size() > 1 && object.kind == 'Service'", want: dead("12 never-matches spec.matchConditions[0].expression")},
	{name: "a controller of Pods", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onPodsCEL)), old: "object.metadata.name == 'web'", new: "object.kind == 'CronJob'", want: []string{"12 autogen-rules spec.matchConditions[0].expression (warning)"}},
	{name: "an operation that the constraints lack", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onPodsCEL)), old: "object.metadata.name == 'web'", new: "request.operation in ['DELETE', 'CONNECT'] && object.kind == 'Pod'", want: dead("12 never-matches spec.matchConditions[0].expression")},
	{name: "an operation that they have", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onPodsCEL)), old: "object.metadata.name == 'web'", new: "request.operation == 'CREATE' && object.kind == 'Pod'"},
	{name: "an API version that the constraints lack", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onDeployments)), old: "object.metadata.name == 'web'", new: "object.apiVersion == 'v1' && object.metadata.name == 'web'", want: dead("12 never-matches spec.matchConditions[0].expression")},
	{name: "their API version", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onDeployments)), old: "object.metadata.name == 'web'", new: "object.apiVersion == 'apps/v1'"},
	{name: "a group that the constraints lack", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onDeployments)), old: "object.metadata.name == 'web'", new: "request.kind.group in ['batch', 'policy'] && object.metadata.name == 'web'", want: dead("12 never-matches spec.matchConditions[0].expression")},
	{name: "a version that the constraints lack", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onDeployments)), old: "object.metadata.name == 'web'", new: "request.kind.version == 'v1beta1' && object.metadata.name == 'web'", want: dead("12 never-matches spec.matchConditions[0].expression")},
	{name: "a resource that the constraints lack", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onDeployments)), old: "object.metadata.name == 'web'", new: "request.resource.resource == 'pods'", want: dead("12 never-matches spec.matchConditions[0].expression")},
	{name: "their resource", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onDeployments)), old: "object.metadata.name == 'web'", new: "request.resource.resource == 'deployments'"},
	{name: "an object of a subresource", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onDeployments)), old: "object.metadata.name == 'web'", new: "request.resource.resource == 'deployments' && object.kind == 'Scale'"},
	{name: "subresources of Pods", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", "{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods/status, pods/ephemeralcontainers]}")), old: "object.metadata.name == 'web'", new: "object.kind == 'Service'", want: dead("12 never-matches spec.matchConditions[0].expression")},
	{name: "constraints of a custom resource", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", "{apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [things]}")), old: "object.metadata.name == 'web'", new: "object.kind == 'Service'"},
	{name: "a Pod, from a policy about Pods/exec", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", "{apiGroups: [''], apiVersions: [v1], operations: [CONNECT], resources: [pods/exec, pods/attach]}")), old: "object.metadata.name == 'web'", new: "object.kind == 'Pod'", want: dead("12 never-matches spec.matchConditions[0].expression")},
	{name: "the object of Pods/exec", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", "{apiGroups: [''], apiVersions: [v1], operations: [CONNECT], resources: [pods/exec, pods/attach]}")), old: "object.metadata.name == 'web'", new: "object.kind == 'PodExecOptions'"},
	{name: "the resource of Pods/exec", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", "{apiGroups: [''], apiVersions: [v1], operations: [CONNECT], resources: [pods/exec, pods/attach]}")), old: "object.metadata.name == 'web'", new: "request.resource.resource == 'pods' && object.apiVersion == 'v1'"},
	{name: "a kind in the version of another", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onPodsCEL)), old: "object.metadata.name == 'web'", new: "object.apiVersion == 'v1' && object.kind == 'Deployment'", want: dead("12 never-matches spec.matchConditions[0].expression")},
	{name: "a kind in its version", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onPodsCEL)), old: "object.metadata.name == 'web'", new: "object.apiVersion == 'v1' && object.kind == 'Pod'"},
	{name: "a controller that the policy leaves out", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onPodsCEL) + "  autogen: {podControllers: {controllers: [deployments, cronjobs]}}\n"), old: "object.metadata.name == 'web'", new: "object.kind == 'StatefulSet'", want: dead("12 never-matches spec.matchConditions[0].expression")},
	{name: "a controller that it names", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onPodsCEL) + "  autogen: {podControllers: {controllers: [deployments, cronjobs]}}\n"), old: "object.metadata.name == 'web'", new: "object.kind in ['Pod', 'Deployment']"},
	{name: "a controller beside unknown ones", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onPodsCEL) + "  autogen: {podControllers: {controllers: [rollouts.v1alpha1.argoproj.io]}}\n"), old: "object.metadata.name == 'web'", new: "object.kind in ['Rollout', 'Pod']"},
	{name: "a controller, from a policy about Pods and more", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", "{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods, services]}")), old: "object.metadata.name == 'web'", new: "object.kind == 'StatefulSet'", want: dead("12 never-matches spec.matchConditions[0].expression")},
	{name: "images that nothing reads", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onDeployments)), old: "  expiresAt:", new: "  images: ['r.example/web:*']\n  expiresAt:", want: dead("13 never-matches spec.images")},
	{name: "images that one of two policies reads", of: policies, config: knowing(readsImages, celPolicy("ValidatingPolicy", "other", onPodsCEL)),
		old: "  matchConditions:", new: "  - {name: other, kind: ValidatingPolicy}\n  images: ['r.example/web:*']\n  matchConditions:", want: dead("10 never-matches spec.policyRefs[1]")},
	{name: "images that both read", of: policies, config: knowing(readsImages, strings.Replace(readsImages, "require-probes", "other", 1)),
		old: "  matchConditions:", new: "  - {name: other, kind: ValidatingPolicy}\n  images: ['r.example/web:*']\n  matchConditions:"},
	{name: "images that a DeletingPolicy ignores", of: replaced(policies, "kind: ValidatingPolicy", "kind: DeletingPolicy"), config: knowing(celPolicy("DeletingPolicy", "require-probes", onPodsCEL)),
		old: "  matchConditions:", new: "  images: ['r.example/web:*']\n  matchConditions:", want: []string{"8 wider-than-written spec.policyRefs[0] (warning)"}},

	// Match conditions that are misspelt.
	misspelt("object.metadata.name == 'web-*' && "+inTeam, ""),
	misspelt("object.metadata.name in ['api', 'web-*'] && "+inTeam, ""),
	misspelt("'web-?' == object.metadata.name && "+inTeam, ""),
	misspelt("object.metadata.name.startsWith('web-*') && "+inTeam, ""),
	misspelt("object.metadata.?name.orValue('') == '*-web' && "+inTeam, ""),
	misspelt("object.kind == 'Deploy*' && object.metadata.namespace == 'team-a' && object.metadata.name == 'web'", ""),
	misspelt("request.operation == 'create' && "+inTeam, ""),
	misspelt("request.operation in ['CREATE', 'update'] && "+inTeam, ""),
	misspelt("object.metadata.namee == 'web' && "+inTeam, ""),
	misspelt("object.metadata.?namee.orValue('') == 'web' && "+inTeam, ""),
	misspelt("has(object.metadata.label) && "+inTeam, ""),
	misspelt("object.metadata.?labels[?'app'].orValue('') == 'a' && object.metadata.labels['app'] == true && "+inTeam, ""),
	misspelt("object.metdata.name == 'web' && "+inTeam, " (warning)"),
	misspelt("object.Kind == 'Pod' && "+inTeam, " (warning)"),
	misspelt("'{{ request.object.metadata.name }}' == 'web' && "+plainScope, ""),
	misspelt("'object.metadata.name' == 'web' && "+plainScope, ""),
	misspelt("object.kind == 'Namespace' && object.metadata.namespace == 'team-a'", ""),
	misspelt("object.kind == 'Pod' && object.name == 'web' && "+plainScope, " (warning)"),
	misspelt("request.resource.resource == 'Deployment' && object.kind == 'Deployment' && "+plainScope, " (warning)"),
	misspelt("object.kind == 'Pod' && has(object.spec.hostnetwork) && "+inTeam, " (warning)"),
	misspelt("object.spec.template.spec.hostPid && "+onlyTeam, " (warning)"),
	misspelt("object.spec.containers.all(c, c.SecurityContext.privileged) && "+inTeam, " (warning)"),
	misspelt("object.spec.?hostNetwork.orValue(false) == 'true' && "+inTeam, " (warning)"),
	misspelt("has(object.spec.replicas) && object.spec.replicas == '3' && "+onlyTeam, " (warning)"),
	misspelt("object.spec.?hostNetwork.orValue(false) && "+onlyTeam, " (warning)"),
	misspelt("has(object.spec.hostNetwork) && object.spec.hostNetwork == true && object.apiVersion == 'apps/v1' && "+onlyTeam, ""),
	misspelt("object.spec.template.spec.hostNetwork && "+inTeam, " (warning)"),
	misspelt("object.metadata.name == 'web' && object.metadata.name != 'web' && "+inTeam, ""),
	misspelt("object.metadata.?labels.?app.orValue('') == 'a' && object.metadata.?labels[?'app'].orValue('') in ['b', 'c'] && "+inTeam, ""),
	{name: "a field that is absent", of: policies, old: plainScope, new: "object.spec.?hostNetwork.orValue(false) == false && size(object.spec.?volumes.orValue([])) == 0 && !has(object.spec.nodeName) && " + onlyTeam},
	{name: "a template or the Pod itself", of: policies, old: plainScope, new: quote("object.spec.?template.?spec.orValue(object.spec).containers.exists(c, c.image == 'x') && " + inTeam)},
	{name: "one of two fields", of: policies, old: plainScope, new: quote("(object.metadata.name == 'web' || object.spec.?hostNetwork.orValue(false)) && (has(object.spec.template) ? object.spec.template.spec.?hostNetwork.orValue(false) : object.spec.?hostNetwork.orValue(false)) && " + onlyTeam)},
	{name: "one of two kinds", of: policies, old: plainScope, new: "(object.kind == 'Deployment' && object.metadata.name == 'web' || object.metadata.name == 'api-0') && object.spec.?hostNetwork.orValue(false) && object.metadata.namespace == 'team-a'", want: []string{"12 reaches-guard spec.matchConditions[0].expression"}},
	{name: "two keys of labels", of: policies, old: plainScope, new: quote("object.metadata.labels[object.kind == 'Pod' ? 'app' : 'name'] == 'web' && object.metadata.labels[object.kind != 'Pod' ? 'app' : 'name'] == 'web' && " + inTeam)},
	{name: "a kind of another group", of: policies, old: plainScope, new: "object.kind == 'Deployment' && object.apiVersion == 'example.com/v1' && has(object.spec.volumes) && object.metadata.namespace == 'team-a'"},
	{name: "a template", of: policies, old: plainScope, new: "object.kind in ['Pod', 'Deployment'] && object.spec.?template.hasValue() && object.metadata.namespace == 'team-a'"},
	{name: "a Job of somebody else", of: policies, old: plainScope, new: "object.kind == 'Job' && object.spec.?volumes.hasValue() && object.metadata.namespace == 'team-a'"},
	{name: "a label that is in two lists", of: policies, old: plainScope, new: "object.metadata.?labels.?app.orValue('') in ['a', 'b'] && object.metadata.?labels[?'app'].orValue('') in ['b', 'c'] && " + inTeam},
	{name: "containers of two names", of: policies, old: plainScope, new: quote("object.spec.containers.all(c, c.name == 'a') && object.spec.containers.all(c, c.name != 'a') && " + inTeam)},
	{name: "a role may have a star", of: policies, old: plainScope, new: "object.kind == 'ClusterRole' && object.metadata.name == '*'", want: []string{"12 not-proven-narrow spec.matchConditions[0].expression (warning)"}},
	{name: "labels of any name", of: policies, old: plainScope, new: "object.metadata.?labels[?'hostnetwork'].orValue('') == 'true' && has(object.metadata.labels) && has(object.metadata.labels.nodename) && object.metadata.labels.nodename == 'true' && " + inTeam},
	{name: "fields of a custom kind", of: policies, old: plainScope, new: "object.kind == 'Thing' && has(object.spec.hostnetwork) && " + plainScope},
	{name: "a bool", of: policies, old: plainScope, new: "object.spec.?hostNetwork.orValue(false) == true && " + inTeam},

	// && binds stronger than ||.
	wide("object.kind == 'Pod' && object.metadata.namespace == 'team-a' || object.metadata.name == 'web'"),
	wide("object.metadata.name != 'web-*' && " + inTeam),
	wide(plainScope + " && object.metadata.labels['a'] != true"),
	wide(inTeam + " && !has(object.metadata.deletedAt)"),
	wide(inTeam + " && !(object.metadata.name in ['web-*'])"),
	wide("object.metadata.name.matches('web*') && " + inTeam),
	wide(inTeam + " && (object.metadata.name != 'web' || object.metadata.name != 'api')"),
	{name: "two labels", of: policies, old: plainScope, new: quote("(object.metadata.?labels[?'a'].orValue('') != 'x' || object.metadata.?labels[?'b'].orValue('') != 'y') && " + inTeam)},
	{name: "exclusions beside something else", of: policies, old: plainScope, new: quote("(has(object.spec.a) && object.metadata.name != 'x' || has(object.spec.a) && object.metadata.name != 'y') && " + onlyTeam)},
	wide("object.metadata.name == 'web' || object.kind == 'Pod' && object.metadata.namespace == 'team-a'"),
	wide("object.kind == 'Pod' && (object.metadata.namespace == 'team-a' && object.metadata.name == 'api' || object.metadata.name == 'web')"),
	{name: "with parentheses", of: policies, old: plainScope, new: "(object.kind == 'Pod' && object.metadata.namespace == 'team-a') || object.metadata.name == 'web'"},
	{name: "alternatives with a namespace", of: policies, old: plainScope, new: plainScope + " || object.kind == 'Pod' && object.metadata.namespace == 'team-b'"},
	{name: "a namespace beside alternatives", of: policies, old: plainScope, new: "object.metadata.namespace == 'team-a' && (object.metadata.name == 'api' && request.namespace == 'team-a' || object.metadata.name == 'web')"},
	{name: "a pattern in a regular expression", of: policies, old: plainScope, new: "object.metadata.name.matches('web-*') && " + inTeam, want: []string{"12 wider-than-written spec.matchConditions[0].expression (warning)"}},
	{name: "repetitions", of: policies, old: plainScope, new: quote(`object.metadata.name.matches('^web-[0-9]*(-a)*.*$') && ` + inTeam)},
	{name: "an object in an object", of: policies, old: plainScope, new: "object.kind == 'Object' && object.spec.object.metadata.uid2 == 'a' && " + plainScope},
	{name: "dashes in a class", of: policies, old: plainScope, new: "object.metadata.name.matches('^web[a-z0-9-]*$') && " + inTeam},

	// Pod Security Standards.
	{name: "a control of another profile", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", "name: check, "+onPods+", validate: {podSecurity: {level: baseline, version: latest}}")),
		old: rulesOfLegacy, new: onlyCheck + "kinds: [Pod]" + restOfMatch + "\n  podSecurity:\n  - controlName: Volume Types", want: dead("20 never-matches spec.podSecurity[0]")},
	{name: "a field of another control", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", "name: check, "+onPods+", validate: {podSecurity: {level: restricted, version: latest}}")),
		old: rulesOfLegacy, new: onlyCheck + "kinds: [Pod]" + restOfMatch + "\n  podSecurity:\n  - {controlName: Sysctls, restrictedField: spec.hostNetwork, values: ['true']}", want: dead("20 never-matches spec.podSecurity[0]")},
	{name: "the field of the control", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", "name: check, "+onPods+", validate: {podSecurity: {level: restricted, version: latest}}")),
		old: rulesOfLegacy, new: onlyCheck + "kinds: [Pod]" + restOfMatch + "\n  podSecurity:\n  - {controlName: Host Namespaces, restrictedField: spec.hostNetwork, values: ['true']}"},

	{name: "a control that the rule excludes", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", "name: check, "+onPods+", validate: {podSecurity: {level: restricted, version: latest, exclude: [{controlName: Host Namespaces}]}}")),
		old: rulesOfLegacy, new: onlyCheck + "kinds: [Pod]" + restOfMatch + "\n  podSecurity:\n  - {controlName: Host Namespaces}", want: dead("20 never-matches spec.podSecurity[0]")},
	{name: "a field that the rule excludes", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", "name: check, "+onPods+", validate: {podSecurity: {level: restricted, version: latest, exclude: [{controlName: Host Namespaces, restrictedField: spec.hostNetwork, values: ['true']}]}}")),
		old: rulesOfLegacy, new: onlyCheck + "kinds: [Pod]" + restOfMatch + "\n  podSecurity:\n  - {controlName: Host Namespaces}"},
	{name: "a control of Pods that it excludes, for containers", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", "name: check, "+onPods+", validate: {podSecurity: {level: restricted, version: latest, exclude: [{controlName: Seccomp}]}}")),
		old: rulesOfLegacy, new: onlyCheck + "kinds: [Pod]" + restOfMatch + "\n  podSecurity:\n  - {controlName: Seccomp, images: ['example.com/*']}"},
	{name: "another control that it excludes", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", "name: check, "+onPods+", validate: {podSecurity: {level: restricted, version: latest, exclude: [{controlName: Sysctls}]}}")),
		old: rulesOfLegacy, new: onlyCheck + "kinds: [Pod]" + restOfMatch + "\n  podSecurity:\n  - {controlName: Host Namespaces}"},
	{name: "values in another letter case", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", "name: check, "+onPods+", validate: {podSecurity: {level: restricted, version: latest}}")),
		old: rulesOfLegacy, new: onlyCheck + "kinds: [Pod]" + restOfMatch + "\n  podSecurity:\n  - {controlName: Host Namespaces, restrictedField: spec.hostNetwork, values: ['True']}\n" +
			"  - {controlName: Seccomp, restrictedField: spec.securityContext.seccompProfile.type, values: [Unconfined, unconfined]}\n" +
			"  - {controlName: Capabilities, images: [example.com/a], restrictedField: 'spec.containers[*].securityContext.capabilities.add', values: [NET_ADMIN, cap_net_raw]}\n" +
			"  - {controlName: SELinux, restrictedField: spec.securityContext.seLinuxOptions.type, values: [true_t, 'TRUE']}\n" +
			"  - {controlName: AppArmor, values: [unconfined]}\n" +
			"  - {controlName: Capabilities, images: [example.com/a], restrictedField: 'spec.containers[*].securityContext.capabilities.add', values: ['CAP_*', chown]}",
		want: []string{"20 never-matches spec.podSecurity[0].values (warning)", "21 never-matches spec.podSecurity[1].values (warning)", "22 never-matches spec.podSecurity[2].values (warning)", "24 bad-pod-security spec.podSecurity[4].values"}},

	// Labels within one exception.
	{name: "a label and without its value", of: legacy, old: scopeOfLegacy, new: scopeOfLegacy + "\n        selector: {matchLabels: {app: web}, matchExpressions: [{key: app, operator: NotIn, values: [web, api]}]}", want: dead("19 never-matches spec.match.any[0].resources.selector")},
	{name: "a label and without it", of: legacy, old: scopeOfLegacy, new: scopeOfLegacy + "\n        selector: {matchExpressions: [{key: app, operator: Exists}, {key: app, operator: DoesNotExist}]}", want: dead("19 never-matches spec.match.any[0].resources.selector")},
	{name: "two lists for a label", of: legacy, old: scopeOfLegacy, new: scopeOfLegacy + "\n        selector: {matchExpressions: [{key: app, operator: In, values: [a, b]}, {key: app, operator: In, values: [c, a]}]}"},
	{name: "two lists without a common value", of: legacy, old: scopeOfLegacy, new: scopeOfLegacy + "\n        selector: {matchExpressions: [{key: app, operator: In, values: [a, b]}, {key: app, operator: In, values: [c]}]}", want: dead("19 never-matches spec.match.any[0].resources.selector")},
	{name: "a pattern for a label", of: legacy, old: scopeOfLegacy, new: scopeOfLegacy + "\n        selector: {matchLabels: {app: 'we*'}, matchExpressions: [{key: app, operator: NotIn, values: [web]}]}"},
	{name: "another namespace by its label", of: legacy, old: scopeOfLegacy, new: scopeOfLegacy + "\n        namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: green}}", want: dead("18 never-matches spec.match.any[0].resources.namespaces")},
	{name: "its namespace by its label", of: legacy, old: scopeOfLegacy, new: scopeOfLegacy + "\n        namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: team-a}}"},
	{name: "two filters for one object", of: legacy, old: "any:\n    - resources:\n        " + scopeOfLegacy,
		new:  "all:\n    - resources:\n        " + scopeOfLegacy + "\n        selector: {matchLabels: {app: web}}\n    - resources: {kinds: [Deployment], selector: {matchLabels: {app: api}}}",
		want: dead("19 never-matches spec.match.all[0].resources.selector")},

	// Variables of conditions.
	{name: "a variable that does not exist", of: legacy, config: knowing(about("{any: [{resources: {kinds: [Deployment]}}]}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy + "\n  conditions: {any: [{key: '{{ reqest.operation }}', operator: Equals, value: CREATE}]}", want: dead("19 never-matches spec.conditions")},
	{name: "a variable of the rule", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", "name: check, context: [{name: team, variable: {value: a}}], match: {any: [{resources: {kinds: [Deployment]}}]}, validate: {deny: {}}")),
		old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy + "\n  conditions: {any: [{key: '{{ team }}', operator: Equals, value: a}]}"},
	{name: "a variable with a default", of: legacy, old: scopeOfLegacy, new: scopeOfLegacy + "\n  conditions: {any: [{key: \"{{ request.userInfo.username || 'none' }}\", operator: Equals, value: none}]}"},
	{name: "a variable that Kyverno may not reach", of: legacy, old: scopeOfLegacy, new: scopeOfLegacy + "\n  conditions: {any: [{key: '{{ request.namespace }}', operator: Equals, value: team-a}, {key: '{{ nope }}', operator: Equals, value: a}]}"},
	{name: "a variable of all", of: legacy, config: knowing(about("{any: [{resources: {kinds: [Deployment]}}]}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy + "\n  conditions: {all: [{key: '{{ request.namespace }}', operator: Equals, value: team-a}, {key: '{{ nope }}', operator: Equals, value: a}]}", want: dead("19 never-matches spec.conditions")},
	{name: "a name with a dash", of: legacy, old: scopeOfLegacy, new: scopeOfLegacy + "\n  conditions: {any: [{key: '{{ request.object.metadata.labels.app-name }}', operator: Equals, value: a}]}", want: dead("19 never-matches spec.conditions")},
	{name: "a name with a dash in quotes", of: legacy, old: scopeOfLegacy, new: scopeOfLegacy + "\n  conditions: {any: [{key: '{{ request.object.metadata.labels.\"app-name\" || `a.b-c` }}', operator: Equals, value: a}]}"},
	{name: "a field that no request has", of: legacy, old: scopeOfLegacy, new: scopeOfLegacy + "\n  conditions: {any: [{key: '{{ request.user.username }}', operator: Equals, value: a}]}", want: dead("19 never-matches spec.conditions")},
	{name: "the sender, in background scans", of: legacy, old: scopeOfLegacy, new: scopeOfLegacy + "\n  conditions: {any: [{key: '{{ request.userInfo.username }}', operator: Equals, value: a}]}", want: dead("19 never-matches spec.conditions")},
	{name: "the sender, without them", of: legacy, old: scopeOfLegacy, new: scopeOfLegacy + "\n  background: false\n  conditions: {any: [{key: '{{ request.userInfo.username }}', operator: Equals, value: a}]}"},
	constant("{any: [{key: '{{ request.operation }}', operator: Equals, value: create}]}", ".any[0]"),
	constant("{all: [{key: '{{ request.namespace }}', operator: Equals, value: team-a}, {key: '{{request.operation}}', operator: AnyIn, value: [CREATE, update]}]}", ".all[1]"),
	constant("{all: [{key: '{{request.operation}}', operator: NotEquals, value: Delete}]}", ".all[0]"),
	constant("{any: [{key: '{{ request.operation }}', operator: Equals, value: [CREATE, UPDATE]}]}", ".any[0]"),
	constant("{any: [{key: '{{ request.operation }}', operator: AnyIn, value: 'CREATE,UPDATE'}]}", ".any[0]"),
	{name: "another name in the conditions", of: legacy, old: scopeOfLegacy, new: scopeOfLegacy + "\n  conditions: {all: [{key: '{{ request.object.metadata.name }}', operator: Equals, value: api}]}", want: dead("17 never-matches spec.match.any[0].resources.names")},
	{name: "its name in the conditions", of: legacy, old: scopeOfLegacy, new: scopeOfLegacy + "\n  conditions: {all: [{key: '{{ request.object.metadata.name }}', operator: AnyIn, value: [api, 'we*']}]}"},
	{name: "another name than that", of: legacy, old: scopeOfLegacy, new: scopeOfLegacy + "\n  conditions: {all: [{key: '{{ request.object.metadata.name }}', operator: NotEquals, value: web}]}"},
	{name: "a kind in lower case in the conditions", of: legacy, old: scopeOfLegacy, new: scopeOfLegacy + "\n  conditions: {all: [{key: '{{request.object.kind}}', operator: Equals, value: deployment}]}", want: []string{"16 never-matches spec.match.any[0].resources.kinds", "19 unknown-kind spec.conditions (warning)"}},
	{name: "another operation than the rule's", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", "name: check, match: {any: [{resources: {kinds: [Deployment], operations: [UPDATE]}}]}, validate: {deny: {}}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy + "\n  conditions: {all: [{key: '{{ request.operation }}', operator: Equals, value: CREATE}]}", want: dead("13 never-matches spec.match")},
	{name: "the rule's operation", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", "name: check, match: {any: [{resources: {kinds: [Deployment], operations: [UPDATE]}}]}, validate: {deny: {}}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy + "\n  conditions: {all: [{key: '{{ request.operation }}', operator: AnyIn, value: [CREATE, UPDATE]}]}"},
	{name: "the sender, from a policy for requests only", of: legacy, config: knowing(strings.Replace(about("{any: [{resources: {kinds: [Deployment]}}]}"), "spec:", "spec:\n  background: false", 1)),
		old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy + "\n  conditions: {any: [{key: '{{ request.userInfo.username }}', operator: Equals, value: a}]}"},
	misspelt(plainScope+" && object.metadata.name in []", ""),
	{name: "a pattern of operations", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", "name: check, match: {any: [{resources: {kinds: [Deployment], operations: [UPDATE]}}]}, validate: {deny: {}}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy + "\n  conditions: {all: [{key: '{{ request.operation }}', operator: AnyIn, value: ['UPD*']}]}"},
	{name: "operations in JSON", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", "name: check, match: {any: [{resources: {kinds: [Deployment], operations: [UPDATE]}}]}, validate: {deny: {}}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy + "\n  conditions: {all: [{key: '{{ request.operation }}', operator: AnyIn, value: '[\"CREATE\", \"UPDATE\"]'}]}"},
	{name: "operations of a variable", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", "name: check, match: {any: [{resources: {kinds: [Deployment], operations: [UPDATE]}}]}, validate: {deny: {}}")), old: rulesOfLegacy, new: onlyCheck + scopeOfLegacy + "\n  conditions: {all: [{key: '{{ request.operation }}', operator: AnyIn, value: '{{ request.object.metadata.labels.a }}'}]}"},
	{name: "the object of a subresource", of: legacy, old: scopeOfLegacy, new: strings.Replace(scopeOfLegacy, "Deployment", "Deployment/scale", 1) + "\n  conditions: {all: [{key: '{{ request.object.kind }}', operator: Equals, value: Scale}]}"},
	constant("{any: [{key: request.operation, operator: Equals, value: CREATE}]}", ".any[0]"),
	constant("{any: [{key: '{ request.object.spec.a }', operator: Equals, value: CREATE}]}", ".any[0]"),
	constant("{any: [{key: serviceAccountName, operator: Equals, value: a}]}", ".any[0]"),
	constant("{any: [{key: '{{ request.object.metdata.name }}', operator: Equals, value: a}]}", ""),
	constant("{any: [{key: '{{ request.oldObject.metadata.namee }}', operator: Equals, value: a}]}", ""),
	{name: "operations", of: legacy, old: scopeOfLegacy, new: scopeOfLegacy + "\n  conditions: {all: [{key: '{{ request.operation }}', operator: AnyIn, value: [CREATE, 'UP*']}, {key: \"{{request.operation || 'BACKGROUND'}}\", operator: NotEquals, value: BACKGROUND}]}"},
	{name: "a key that is a text", of: legacy, old: scopeOfLegacy, new: scopeOfLegacy + "\n  conditions: {all: [{key: requested, operator: Equals, value: requested}]}"},
	{name: "a function", of: legacy, old: scopeOfLegacy, new: scopeOfLegacy + "\n  conditions: {any: [{key: \"{{ length(request.object.spec.containers) }}\", operator: Equals, value: 1}]}"},
}
