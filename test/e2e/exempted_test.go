//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/kyverno/translate"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/documents"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// conditionsOfExceptions are the match conditions of exceptions.
var conditionsOfExceptions = [][]string{
	nil,
	{"object.metadata.name == 'web'"},
	{"object.kind == 'Deployment'", "object.metadata.namespace == 'team-a'"},
	{"object.metadata.namespace == 'team-a' && object.metadata.name.startsWith('web')"},
	{"object.metadata.namespace in ['team-b', 'team-c']"},
	{"has(object.metadata.namespace) && object.metadata.namespace == 'team-b' || object.kind == 'ClusterRole'"},
	{"!has(object.metadata.namespace)"},
	{"!(object.kind in ['Pod', 'Namespace'])"},
	{"object.apiVersion == 'apps/v1' && request.kind.kind == 'StatefulSet'"},
	{"request.resource.resource == 'deployments' && request.resource.group == 'apps'"},
	{"request.name == 'web' && request.namespace == 'team-b'"},
	{"!has(request.subResource) && request.operation == 'CREATE'"},
	{"request.operation == 'DELETE'"},
	{"request.object.metadata.name == 'web'"},
	{"object.metadata.labels.app == 'web'"},
	{"has(object.metadata.labels) && 'app' in object.metadata.labels && object.metadata.labels['app'] == 'web'"},
	{"object.metadata.?labels.app.orValue('') != 'web'"},
	{"object.metadata.annotations.exists(k, k == 'why')"},
	{"has(object.metadata.annotations) && object.metadata.annotations.why.matches('^because')"},
	{"object.spec.containers.all(c, c.image.startsWith('registry.example/'))"},
	{"has(object.spec) && has(object.spec.containers) && object.spec.containers.exists(c, has(c.securityContext) && c.securityContext.privileged)"},
	{"object.spec.replicas > 2"},
	{"object.spec.replicas > 2 || object.kind == 'Pod'"},
	{"object.kind == 'Pod'", "object.spec.replicas > 2"},
	{"object.spec.replicas > 2", "object.kind == 'Pod'"},
	{"object.kind == 'Deployment' && object.spec.replicas == 3.0"},
	{"namespaceObject.metadata.name == 'team-a' && object.kind != 'Namespace'"},
	{"namespaceObject.metadata.labels.team == 'a' && object.kind != 'Namespace'"},
	{"object.kind != 'Namespace' && namespaceObject != null && 'team' in namespaceObject.metadata.labels && namespaceObject.metadata.labels['team'] == 'b'"},
	{"namespaceObject == null"},
	{"!has(oldObject.metadata)"},
	{"oldObject.metadata.name == 'web'"},
	{"[request.operation == 'DELETE' ? oldObject : object].exists(it, it.kind == 'Deployment' && it.metadata.name == 'web')"},
	{"object.metadata.labels == {'app': 'web'}"},
}

// exemptedResources are what the conditions and matches of exceptions select from.
const exemptedResources = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: team-a, labels: {app: web}, annotations: {why: because I can}}
spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: registry.example/a}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: webby, namespace: team-b, labels: {app: webby}}
spec: {replicas: 1, selector: {matchLabels: {app: webby}}, template: {metadata: {labels: {app: webby}}, spec: {containers: [{name: a, image: docker.example/a}]}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: team-a, annotations: {why: not}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: team-b, labels: {app: db, tier: x}}
spec: {containers: [{name: a, image: registry.example/a, securityContext: {privileged: true}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web-1, namespace: team-a}
spec: {containers: [{name: a, image: registry.example/a}, {name: b, image: docker.example/b}]}
---
apiVersion: v1
kind: Namespace
metadata: {name: team-a, labels: {team: a}}
---
apiVersion: v1
kind: Namespace
metadata: {name: team-b, labels: {team: b}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: web, labels: {app: web}}
`

// assumedInPolex is a condition that counts as true in polex, because the CLI knows no user.
const assumedInPolex = "request.userInfo.username == 'jane' && object.kind == 'ClusterRole'"

func exceptionFrom(policy, kind string, conditions ...string) string {
	text := fmt.Sprintf("apiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata: {name: from-%s, namespace: team-a}\nspec:\n  policyRefs: [{name: %s, kind: %s}]\n  matchConditions:\n", policy, policy, kind)
	for n, c := range conditions {
		text += fmt.Sprintf("  - {name: c%d, expression: %q}\n", n, c)
	}
	return text
}

// exemptedBy returns the resources that an exception exempts according to polex, with the CLI's names.
func exemptedBy(t *testing.T, source, resources string) (map[string]bool, shape.Exemption) {
	t.Helper()
	checker := must.Get(shape.New(shape.Config{Resources: shape.ReadResources(documents.All(t, resources))}))(t)
	d := must.Get(exception.Parse([]byte(source), ""))(t)
	found, exempt := checker.Exempted(d), map[string]bool{}
	must.That(t, !found.Cut, "%+v\n%s", found, source)
	for _, id := range found.Resources {
		exempt[fmt.Sprint(struct{ Kind, Namespace, Name string }{id.Kind, id.Namespace, id.Name})] = true
	}
	return exempt, found
}

// TestExemptedInKyverno compares polex with Kyverno's CLI: which resources does each exception
// exempt from a policy that rejects everything, on create, update and delete? If polex assumes
// nothing, create and update are exempt. polex answers for plain conditions only.
func TestExemptedInKyverno(t *testing.T) {
	all := append(slices.Clone(conditionsOfExceptions), []string{assumedInPolex})
	var policies, exceptions []string
	for i, conditions := range all {
		policy := fmt.Sprintf("refuse-%d", i)
		policies = append(policies, refusing(policy))
		exceptions = append(exceptions, exceptionFrom(policy, "ValidatingPolicy", conditions...))
	}
	theirs := map[string]map[string]string{}
	for _, operation := range []string{"CREATE", "UPDATE", "DELETE"} {
		theirs[operation] = question{resources: exemptedResources, policies: policies, exceptions: exceptions, operation: operation}.ask(t)
	}
	answers, exempt, known := 0, 0, 0
	for i, source := range exceptions {
		ours, found := exemptedBy(t, source, exemptedResources)
		if !found.Known {
			continue
		}
		known++
		stricter := i >= len(conditionsOfExceptions)
		if stricter && (len(ours) == 0 || len(found.Assumed) == 0) {
			t.Errorf("%s: polex says %v, assuming %q", source, ours, found.Assumed)
		}
		for about, created := range theirs["CREATE"] {
			policy, resource, _ := strings.Cut(about, " ")
			if policy != fmt.Sprintf("refuse-%d", i) {
				continue
			}
			answers++
			updated := theirs["UPDATE"][about]
			skipped := created == "skip" || updated == "skip" || theirs["DELETE"][about] == "skip"
			if skipped {
				exempt++
			}
			switch {
			case stricter && skipped && !ours[resource], !stricter && skipped != ours[resource]:
				t.Errorf("%s\n%s is exempt: Kyverno says %v (%s, %s, %s), polex says %v", source, resource, skipped, created, updated, theirs["DELETE"][about], ours[resource])
			case ours[resource] && len(found.Assumed) == 0 && (created != "skip" || updated != "skip"):
				t.Errorf("%s\n%s is exempt, assuming nothing: Kyverno says %s, %s", source, resource, created, updated)
			}
		}
	}
	if resources := strings.Count(exemptedResources, "kind: "); known < 10 || answers != known*resources || exempt < answers/10 || exempt > answers*9/10 {
		t.Errorf("%d answers for %d of %d exceptions and %d resources, %d of them exempt", answers, known, len(all), resources, exempt)
	}
	t.Logf("%d of %d exceptions, %d of %d answers exempt", known, len(all), exempt, answers)
}

// TestLeftOutInKyverno has conditions that fail with an error for a resource. Mutating and generating policies then
// skip the resource, although the exception does not match it. polex states that as an assumption.
func TestLeftOutInKyverno(t *testing.T) {
	const resources = `apiVersion: v1
kind: Pod
metadata: {name: exempt, namespace: team-a, labels: {app: web}}
---
apiVersion: v1
kind: Pod
metadata: {name: fails, namespace: team-a}
---
apiVersion: v1
kind: Pod
metadata: {name: other, namespace: team-a, labels: {app: api}}
`
	const constraints = "  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: ['*'], operations: [CREATE], resources: [pods]}]}\n"
	for kind, spec := range map[string]string{
		"MutatingPolicy":   "  failurePolicy: Ignore\n  mutations: [{patchType: JSONPatch, jsonPatch: {expression: \"[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'touched': object.metadata.name}}]\"}}]\n",
		"GeneratingPolicy": "  generate: [{expression: \"generator.Apply('team-a', [{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'c'}, 'data': {'touched': object.metadata.name}}])\"}]\n",
	} {
		source := exceptionFrom("p", kind, "object.metadata.labels.app == 'web'")
		ours, found := exemptedBy(t, source, resources)
		leftOut := slices.ContainsFunc(found.Assumed, func(text string) bool { return strings.Contains(text, "an error for no other object") })
		policy := "apiVersion: policies.kyverno.io/v1\nkind: " + kind + "\nmetadata: {name: p}\nspec:\n" + constraints + spec
		file := folder(t, map[string]string{"policy.yaml": policy, "exception.yaml": source, "resources.yaml": resources})
		said, _ := spoken(t, file("policy.yaml"), "--resource", file("resources.yaml"), "--exception", file("exception.yaml"))
		for _, name := range []string{"exempt", "fails", "other"} {
			touched := strings.Contains(said, "touched: "+name+"\n")
			exempt := ours["{Pod team-a "+name+"}"] || name == "fails" && leftOut
			expect.That(t, exempt != touched, "%s, %s: exempt: %v, touched: %v\n%s", kind, name, exempt, touched, said)
		}
	}
}

// TestKindsOfKubernetes reads the API server's own kinds. polex must know the kinds without a namespace.
func TestKindsOfKubernetes(t *testing.T) {
	known := 0
	for _, k := range builtIn(t) {
		apiVersion := strings.TrimPrefix(k.group+"/"+k.version, "/")
		resource := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: a}\n", apiVersion, k.kind)
		ours, found := exemptedBy(t, exceptionFrom("p", "ValidatingPolicy", "has(object.metadata.namespace)"), resource)
		expect.That(t, found.Known && len(ours) > 0 == k.namespaced,
			"%s %s: in a namespace: %v; polex says %v", apiVersion, k.kind, k.namespaced, ours)
		known++
	}
	expect.That(t, known >= 50, "only %d kinds", known)
}

type builtInKind struct {
	group, version, kind string
	namespaced           bool
}

// builtIn returns the kinds of Kubernetes that can be in a file.
func builtIn(t *testing.T) []builtInKind {
	t.Helper()
	get := func(path string, into any) {
		answer := must.Get(live.Get(t.Context(), path))(t)
		err := json.Unmarshal(answer.Body, into)
		must.That(t, err == nil, "%s: %v", path, err)
	}
	var groups struct {
		Groups []struct {
			Name             string
			PreferredVersion struct{ GroupVersion, Version string }
		}
	}
	get("/apis", &groups)
	paths := map[string][2]string{"/api/v1": {"", "v1"}}
	for _, g := range groups.Groups {
		if !strings.Contains(g.Name, ".") || strings.HasSuffix(g.Name, ".k8s.io") {
			paths["/apis/"+g.PreferredVersion.GroupVersion] = [2]string{g.Name, g.PreferredVersion.Version}
		}
	}
	var all []builtInKind
	for path, of := range paths {
		var list struct {
			Resources []struct {
				Name, Kind string
				Namespaced bool
				Verbs      []string
			}
		}
		get(path, &list)
		for _, r := range list.Resources {
			if slices.Contains(r.Verbs, "create") && slices.Contains(r.Verbs, "get") && !strings.Contains(r.Name, "/") {
				all = append(all, builtInKind{of[0], of[1], r.Kind, r.Namespaced})
			}
		}
	}
	return all
}

// translatedMatches are matches of kyverno.io. Kyverno reads their translation.
var translatedMatches = []string{
	`any: [{resources: {kinds: [Deployment, Pod], names: [web, web-*], namespaces: [team-a]}}]`,
	`any: [{resources: {kinds: [apps/v1/Deployment]}}]`,
	`any: [{resources: {kinds: ["*/Pod"], names: ["?eb"]}}]`,
	`any: [{resources: {kinds: ["/v1/Pod"]}}]`,
	`any: [{resources: {kinds: ["*.k8s.io/v1/Clus*"], name: web}}]`,
	`any: [{resources: {names: [web]}}]`,
	`any: [{resources: {namespaces: ["team-?"]}}]`,
	`any: [{resources: {namespaces: [""]}}]`,
	`any: [{resources: {kinds: [Namespace], namespaces: [team-a]}}]`,
	`any: [{resources: {annotations: {why: "because*"}}}]`,
	`any: [{resources: {selector: {matchLabels: {app: "web*"}}}}]`,
	`any: [{resources: {selector: {matchExpressions: [{key: app, operator: NotIn, values: [web]}]}}}]`,
	`any: [{resources: {kinds: [Pod], selector: {matchExpressions: [{key: app, operator: DoesNotExist}]}}}]`,
	`any: [{resources: {namespaceSelector: {matchLabels: {team: a}}}}]`,
	`any: [{resources: {kinds: [Pod]}}, {resources: {names: [web], namespaces: [team-a]}}]`,
	`all: [{resources: {kinds: [Pod, Deployment]}}, {resources: {namespaces: [team-a], names: ["web*"]}}]`,
}

// TestTranslationInKyverno compares in Kyverno's CLI the resources that each exception exempts: in the old form from a
// ClusterPolicy that rejects everything, and translated from such a ValidatingPolicy.
func TestTranslationInKyverno(t *testing.T) {
	var oldExceptions, newExceptions, oldPolicies, newPolicies []string
	for i, match := range translatedMatches {
		policy := fmt.Sprintf("refuse-%d", i)
		source := fmt.Sprintf("apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: exempt-%d, namespace: team-a}\nspec:\n  exceptions: [{policyName: %s, ruleNames: ['*']}]\n  match: {%s}\n", i, policy, match)
		doc := must.Get(exception.Parse([]byte(source), ""))(t)
		translated, notes, err := translate.Exception(doc, translate.Translation{PolicyKinds: map[string]string{policy: "ValidatingPolicy"}})
		if err != nil || len(notes) > 0 {
			t.Fatal(match, notes, err)
		}
		oldExceptions, newExceptions = append(oldExceptions, source), append(newExceptions, string(translated))
		oldPolicies = append(oldPolicies, fmt.Sprintf("apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: %s}\nspec:\n  rules:\n  - name: all\n    match: {any: [{resources: {kinds: [Deployment, StatefulSet, Pod, Namespace, ClusterRole]}}]}\n    validate: {failureAction: Enforce, message: refused, deny: {}}\n", policy))
		newPolicies = append(newPolicies, refusing(policy))
	}
	before := question{resources: exemptedResources, policies: oldPolicies, exceptions: oldExceptions}.ask(t)
	after := question{resources: exemptedResources, policies: newPolicies, exceptions: newExceptions}.ask(t)
	resources := strings.Count(exemptedResources, "kind: ")
	expect.That(t, len(before) == len(translatedMatches)*resources,
		"%d answers for %d exceptions and %d resources", len(before), len(translatedMatches), resources)
	exempt := 0
	for about, result := range before {
		expect.That(t, after[about] == result, "%s: %q by the old form, %q by the new", about, result, after[about])
		if result == "skip" {
			exempt++
		}
	}
	t.Logf("%d exceptions, %d resources, %d of %d answers exempt", len(translatedMatches), resources, exempt, len(before))
}

// refusing returns a ValidatingPolicy that rejects everything.
func refusing(name string) string {
	return fmt.Sprintf("apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: %s}\nspec:\n  autogen: {podControllers: {controllers: []}}\n  matchConstraints:\n    resourceRules:\n    - {apiGroups: ['', apps, rbac.authorization.k8s.io], apiVersions: ['*'], operations: [CREATE, UPDATE, DELETE], resources: [deployments, statefulsets, pods, namespaces, clusterroles]}\n  validations: [{expression: 'false', message: refused}]\n", name)
}

// question is the input of Kyverno's CLI.
type question struct {
	resources            string
	policies, exceptions []string
	operation            string // "" is CREATE
}

// ask returns the CLI's result for each policy and resource: "fail", "skip" if an exception exempts
// it, or "error" if one cannot be evaluated.
func (q question) ask(t *testing.T) map[string]string {
	t.Helper()
	values := "apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\nnamespaceSelector:\n- {name: team-a, labels: {team: a}}\n- {name: team-b, labels: {team: b}}\n"
	if q.operation != "" {
		values += "globalValues: {request.operation: " + q.operation + "}\n"
	}
	file := folder(t, map[string]string{"values.yaml": values})
	results := map[string]string{}
	for _, r := range exempted(t, strings.Join(q.policies, "---\n"), strings.Join(q.exceptions, "---\n"), q.resources, "--values-file", file("values.yaml")) {
		expect.That(t, r.Result == "skip" || r.Result == "fail" || r.Result == "error",
			"%s: %s: %s", r.Policy, r.Result, r.Message)
		results[fmt.Sprintf("%s %s", r.Policy, r.Resources[0])] = r.Result
	}
	return results
}
