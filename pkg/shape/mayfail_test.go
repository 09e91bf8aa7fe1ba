package shape_test

import "github.com/polex-dev/polex/pkg/shape"

func failing(level string) []string {
	return []string{"12 may-fail spec.matchConditions[0].expression" + level}
}

const plainScope = "object.metadata.name == 'web' && object.metadata.namespace == 'team-a'"

var mayFailCases = []change{
	{name: "a label by index", of: policies, old: plainScope, new: "object.kind == 'Pod' && object.metadata.namespace == 'team-a' && object.metadata.labels['app'] == 'web'", want: failing(" (warning)")},
	{name: "in the preset strict", of: policies, old: plainScope, new: "object.kind == 'Pod' && object.metadata.namespace == 'team-a' && object.metadata.labels.app == 'web'",
		config: shape.Config{Preset: "strict", Require: []string{}}, want: failing("")},
	{name: "an annotation", of: policies, old: plainScope, new: "object.metadata.namespace == 'team-a' && object.metadata.annotations['a/b'] == 'c'", want: failing(" (warning)")},
	{name: "in labels that may be missing", of: policies, old: plainScope, new: "object.metadata.namespace == 'team-a' && 'app' in object.metadata.labels", want: failing(" (warning)")},
	{name: "in labels that are there", of: policies, old: plainScope, new: "object.metadata.namespace == 'team-a' && has(object.metadata.labels) && 'app' in object.metadata.labels"},
	{name: "a label that is there", of: policies, old: plainScope, new: "object.metadata.namespace == 'team-a' && has(object.metadata.labels) && 'app' in object.metadata.labels && object.metadata.labels['app'] == 'web'"},
	{name: "an optional label", of: policies, old: plainScope, new: "object.metadata.namespace == 'team-a' && object.metadata.?labels[?'app'].orValue('') == 'web'"},
	{name: "of one object", of: policies, old: plainScope, new: plainScope + " && object.metadata.labels['app'] == 'web'"},
	{name: "a field of spec", of: policies, old: plainScope, new: "object.metadata.namespace == 'team-a' && object.spec.minReadySeconds > 1", want: failing(" (warning)")},
	{name: "a field of spec that is there", of: policies, old: plainScope, new: "object.metadata.namespace == 'team-a' && object.kind == 'Deployment' && has(object.spec.replicas) && object.spec.replicas > 1"},
	{name: "a label by has alone", of: policies, old: plainScope, new: "object.metadata.namespace == 'team-a' && has(object.metadata.labels.app) && object.metadata.labels.app == 'web'", want: failing(" (warning)")},
	{name: "in brackets", of: policies, old: plainScope, new: "object.metadata.namespace == 'team-a' && (has(object.metadata.labels) && ('app' in object.metadata.labels && object.metadata.labels['app'] == 'web'))"},
	{name: "a default of Kubernetes", of: policies, old: plainScope, new: "object.metadata.namespace == 'team-a' && object.kind == 'Deployment' && object.spec.replicas > 3"},
	{name: "a custom kind with its group", of: legacy, old: "[Deployment]", new: "[example.com/v1/Deploymnet]"},
	{name: "a custom kind that is like another", of: legacy, old: "[Deployment]", new: "[CNINode]"},
	{name: "a field of status", of: policies, old: plainScope, new: "object.metadata.namespace == 'team-a' && object.status.phase == 'Failed'", want: failing(" (warning)")},
	{name: "a field of status that is there", of: policies, old: plainScope, new: inTeam + " && has(object.status.phase) && object.status.phase == 'Failed'"},
	{name: "a test below a field that may be missing", of: policies, old: plainScope, new: inTeam + " && has(object.spec.affinity.nodeAffinity)", want: failing(" (warning)")},
	{name: "no such field below it", of: policies, old: plainScope, new: inTeam + " && !has(object.spec.affinity.nodeAffinity)", want: failing(" (warning)")},
	{name: "a test below a tested field", of: policies, old: plainScope, new: inTeam + " && has(object.spec.affinity) && has(object.spec.affinity.nodeAffinity)"},
	{name: "a test below what every Pod has", of: policies, old: plainScope, new: inTeam + " && has(object.spec.securityContext.runAsUser)"},
	{name: "the second field of two", of: policies, old: plainScope, new: onlyTeam + " && object.spec.replicas > object.spec.minReadySeconds", want: failing(" (warning)")},
	{name: "the context of a container", of: policies, old: plainScope, new: inTeam + " && object.spec.containers.all(c, c.securityContext.privileged == false)", want: failing(" (warning)")},
	{name: "of the first container", of: policies, old: plainScope, new: inTeam + " && object.spec.containers[0].securityContext.privileged == true", want: failing(" (warning)")},
	{name: "the context of a container that has one", of: policies, old: plainScope, new: inTeam + " && object.spec.containers.all(c, has(c.securityContext) && has(c.securityContext.privileged))"},
	{name: "the context of Pods in a template", of: policies, old: plainScope, new: onlyTeam + " && has(object.spec.template.spec.securityContext.runAsUser)"},
	{name: "the object of any operation", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", `{apiGroups: [apps], apiVersions: [v1], operations: ['*'], resources: [deployments]}`)), old: plainScope, new: "object.metadata.namespace == 'team-a'", want: failing(" (warning)")},
	{name: "containers", of: policies, old: plainScope, new: "object.metadata.namespace == 'team-a' && object.spec.containers.size() > 1"},
	{name: "the old object of a creation", of: policies, old: plainScope, new: "object.metadata.namespace == 'team-a' && oldObject.metadata.namespace == 'team-a'", want: failing(" (warning)")},
	{name: "the old object of an update", of: policies, old: plainScope, new: "object.metadata.namespace == 'team-a' && request.operation == 'UPDATE' && oldObject.metadata.namespace == 'team-a'"},
	{name: "the object of a deletion", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", `{apiGroups: [apps], apiVersions: [v1], operations: [DELETE], resources: [deployments]}`)), old: plainScope, new: "object.metadata.namespace == 'team-a'", want: failing(" (warning)")},
	{name: "one object of a deletion", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", `{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, DELETE], resources: [deployments]}`)), old: plainScope, new: plainScope + " && object.kind == 'Deployment'", want: failing(" (warning)")},
	{name: "one object, and no deletion", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", `{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, DELETE], resources: [deployments]}`)), old: plainScope, new: "request.operation != 'DELETE' && " + plainScope},
	{name: "a DeletingPolicy has no requests", of: replaced(policies, "kind: ValidatingPolicy", "kind: DeletingPolicy"), config: knowing(celPolicy("DeletingPolicy", "require-probes", `{apiGroups: [apps], apiVersions: [v1], operations: ['*'], resources: [deployments]}`))},
	{name: "the namespace of a cluster-scoped object", of: policies, old: plainScope, new: "object.metadata.name.startsWith('web') && namespaceObject.metadata.name == 'team-a'", want: failing(" (warning)")},
	{name: "an alternative", of: policies, old: plainScope, new: "object.metadata.namespace == 'team-a' && object.kind == 'Deployment' && (!has(object.spec.replicas) || object.spec.replicas > 1)"},
	// Fields that Kyverno ignores.
	{name: "owners", of: policies, old: plainScope, new: "object.kind == 'Pod' && object.metadata.namespace == 'team-a' && object.metadata.ownerReferences[0].kind == 'Job'", want: failing(" (warning)")},
	{name: "a misspelt field of metadata", of: policies, old: plainScope, new: "object.kind == 'Pod' && object.metadata.namespace == 'team-a' && object.metadata.names == 'web'", want: dead("12 never-matches spec.matchConditions[0].expression")},
	{name: "no names", of: legacy, old: "names: [web]", new: "names: []", want: []string{"17 wider-than-written spec.match.any[0].resources.names (warning)"}},
	{name: "no images", of: policies, old: "  expiresAt:", new: "  images: []\n  expiresAt:", want: []string{"13 wider-than-written spec.images (warning)"}},
	{name: "operations", of: legacy, old: scopeOfLegacy, new: scopeOfLegacy + "\n        operations: [DELETE]", want: []string{"19 wider-than-written spec.match.any[0].resources.operations (warning)"}},
	{name: "images of an image policy", of: policies, old: "kind: ValidatingPolicy", new: "kind: ImageValidatingPolicy\n  images: ['r.example/web:*']",
		want: []string{"8 wider-than-written spec.policyRefs[0] (warning)"}},
	{name: "images of one policy of two", of: policies, old: "  matchConditions:", new: "  - {name: a, kind: NamespacedDeletingPolicy}\n  images: ['r.example/web:*']\n  matchConditions:",
		want: []string{"10 wider-than-written spec.policyRefs[1] (warning)"}},
	// Kinds that are probably misspelt.
	{name: "the plural", of: legacy, old: "[Deployment]", new: "[deployments]", want: []string{"16 unknown-kind spec.match.any[0].resources.kinds[0] (warning)"}},
	{name: "a letter too many", of: legacy, old: "[Deployment]", new: "[Deploymnet]", want: []string{"16 unknown-kind spec.match.any[0].resources.kinds[0] (warning)"}},
	{name: "a group that is gone", of: legacy, old: "[Deployment]", new: "[extensions/v1beta1/Deployment]", want: []string{"16 unknown-kind spec.match.any[0].resources.kinds[0] (warning)"}},
	{name: "a version that is gone", of: legacy, old: "[Deployment]", new: "[batch/v1beta1/CronJob]", want: []string{"16 unknown-kind spec.match.any[0].resources.kinds[0] (warning)"}},
	{name: "a group that is none", of: legacy, old: "[Deployment]", new: "[core/v1/Pod]", want: []string{"16 never-matches spec.match.any[0].resources.kinds"}},
	{name: "groups and versions that are right", of: legacy, old: "[Deployment]", new: "[apps/*/Deployment, v1/Deployment, /v1/Pod, '*/v1beta1/CronJob', example.com/v1beta1/Job, autoscaling/v2beta2/HorizontalPodAutoscaler, events.k8s.io/v1/Event]"},
	{name: "a short name", of: legacy, old: "[Deployment]", new: "[Pad]"},
	{name: "a custom kind", of: legacy, old: "[Deployment]", new: "[Certificate]"},
	{name: "in a condition", of: policies, old: "object.metadata.name == 'web'", new: "object.kind == 'pod'", want: []string{"12 unknown-kind spec.matchConditions[0].expression (warning)"}},
}
