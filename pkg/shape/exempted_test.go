package shape_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// world is a repository with two teams. One of them has a file for its namespace.
var world = having(
	object("v1/Namespace team-a", "labels: {tier: gold}"),
	object("apps/v1/Deployment team-a/web", "labels: {app: web, team: a, version: v1.2}", "annotations: {example.com/owner: alice}"),
	object("apps/v1/Deployment team-a/web-admin", "labels: {app: admin}"),
	object("apps/v1/Deployment team-b/web", "labels: {app: web}"),
	object("apps/v1/StatefulSet team-b/db"),
	object("v1/Service team-a/web"),
	object("example.com/v1beta1/Deployment team-a/other"),
	object("batch/v1/CronJob nightly"),
	object("rbac.authorization.k8s.io/v1/ClusterRole reader"),
	"apiVersion: v1\nkind: Pod\nmetadata: {namespace: team-a, generateName: web-}\n",
	"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nmetadata: {name: web}\n",
	"replicas: 3\nname: web\n",
)

// matching returns an exception with a match.
func matching(t *testing.T, match string) *exception.Document {
	t.Helper()
	before, _, _ := strings.Cut(legacy, "  match:\n")
	return must.Get(exception.Parse([]byte(before+"  match: "+match+"\n"), "file.yaml"))(t)
}

func short(ids []exception.Identity) string {
	var out []string
	for _, id := range ids {
		name := id.Name
		if id.Namespace != "" {
			name = id.Namespace + "/" + name
		}
		out = append(out, id.Kind+" "+name)
	}
	return strings.Join(out, ", ")
}

// TestExempted compares the matcher with pkg/engine/utils/exceptions.go of Kyverno 1.19.1.
func TestExempted(t *testing.T) {
	expect.Is(t, "resources", 10, world.Resources.Len())
	checker := must.Get(shape.New(world))(t)
	for _, tc := range []struct{ match, want string }{
		{"{}", ""},
		{"{any: [{resources: {}}]}", ""},
		{"{any: [{resources: {kinds: [Deployment], names: [web]}}]}", "Deployment team-a/web, Deployment team-b/web"},
		{"{any: [{resources: {kinds: [Deployment], name: web, namespaces: [team-b]}}]}", "Deployment team-b/web"},
		{"{any: [{resources: {kinds: [Deployment], name: web, names: [web-admin]}}]}", ""},
		{"{any: [{resources: {kinds: [Deployment], names: ['web*'], namespaces: [team-a]}}]}", "Deployment team-a/web, Deployment team-a/web-admin"},
		{"{any: [{resources: {kinds: [Deployment], names: ['w?b'], namespaces: ['team-?']}}]}", "Deployment team-a/web, Deployment team-b/web"},
		{"{any: [{resources: {kinds: [deployment], names: [web]}}]}", ""},
		{"{any: [{resources: {kinds: [apps/v1/Deployment, '*/Service'], names: [web, other]}}]}", "Deployment team-a/web, Deployment team-b/web, Service team-a/web"},
		{"{any: [{resources: {kinds: [v1beta1/Deployment]}}]}", "Deployment team-a/other"},
		{"{any: [{resources: {kinds: [example.com/*/Deployment, 'apps/v1/Stateful*']}}]}", "Deployment team-a/other, StatefulSet team-b/db"},
		{"{any: [{resources: {kinds: [apps/v1/Deployment/scale, Deployment.scale, StatefulSet/scale]}}]}", ""},
		{"{any: [{resources: {kinds: ['*/scale']}}]}", ""},
		{"{any: [{resources: {kinds: ['*/*'], names: [db]}}]}", "StatefulSet team-b/db"},
		{"{any: [{resources: {kinds: ['apps/v1/*/*'], names: [db]}}]}", "StatefulSet team-b/db"},
		{"{any: [{resources: {names: [web]}}]}", "Deployment team-a/web, Deployment team-b/web, Service team-a/web"},
		{"{any: [{resources: {kinds: [Pod], names: ['web-']}}]}", "Pod team-a/web-"},
		{"{any: [{resources: {kinds: [Namespace], namespaces: [team-a]}}]}", "Namespace team-a"},
		{"{any: [{resources: {kinds: [Namespace], namespaces: [team-b]}}]}", ""},
		{"{any: [{resources: {kinds: [CronJob], namespaces: [team-b]}}]}", "CronJob nightly"},
		{"{any: [{resources: {kinds: [ClusterRole, CronJob], names: [reader]}}]}", "ClusterRole reader"},
		{"{any: [{resources: {kinds: [ClusterRole], namespaces: [team-a]}}]}", ""},
		{"{any: [{resources: {kinds: [ClusterRole], namespaceSelector: {matchLabels: {tier: gold}}}}]}", ""},
		{"{any: [{resources: {kinds: [Service]}}, {resources: {kinds: [StatefulSet]}}, {resources: {kinds: [S*]}}]}", "Service team-a/web, StatefulSet team-b/db"},
		{"{all: [{resources: {kinds: [Deployment]}}, {resources: {names: [web]}}, {resources: {namespaces: [team-b]}}]}", "Deployment team-b/web"},
		{"{all: [{resources: {kinds: [Deployment]}}, {resources: {}}]}", ""},
		{"{any: [{resources: {kinds: [StatefulSet]}}], all: [{resources: {kinds: [Service]}}]}", "StatefulSet team-b/db"},
		{"{any: [{resources: {kinds: [StatefulSet]}, subjects: [{kind: User, name: a}]}]}", "StatefulSet team-b/db"},
		{"{any: [{resources: {kinds: [StatefulSet], operations: [DELETE]}}]}", "StatefulSet team-b/db"},
		{"{any: [{resources: {annotations: {example.com/owner: ali*}}}]}", "Deployment team-a/web"},
		{"{any: [{resources: {annotations: {'example.com/*': '*'}}}]}", "Deployment team-a/web"},
		{"{any: [{resources: {annotations: {example.com/owner: bob}}}]}", ""},
		{"{any: [{resources: {kinds: [Deployment], selector: {matchLabels: {app: web}}}}]}", "Deployment team-a/web, Deployment team-b/web"},
		{"{any: [{resources: {kinds: [Deployment], selector: {matchLabels: {app: 'w*', 'te?m': '*'}}}}]}", "Deployment team-a/web"},
		{"{any: [{resources: {kinds: [Deployment], selector: {matchLabels: {'*': 'v1.*'}}}}]}", "Deployment team-a/web"},
		{"{any: [{resources: {kinds: [StatefulSet, Service], selector: {}}}]}", "Service team-a/web, StatefulSet team-b/db"},
		{"{any: [{resources: {selector: {matchExpressions: [{key: app, operator: In, values: [web, x]}, {key: team, operator: DoesNotExist}]}}}]}", "Deployment team-b/web"},
		{"{any: [{resources: {kinds: [Deployment], selector: {matchExpressions: [{key: app, operator: NotIn, values: [web]}]}}}]}", "Deployment team-a/web-admin, Deployment team-a/other"},
		{"{any: [{resources: {kinds: [Deployment], selector: {matchExpressions: [{key: app, operator: In, values: ['*']}]}}}]}", ""},
		{"{any: [{resources: {kinds: [Deployment], selector: {matchExpressions: [{key: app, operator: NotIn, values: ['*']}]}}}]}", ""},
		{"{any: [{resources: {kinds: [Deployment], selector: {matchExpressions: [{key: app, operator: Exists, values: [web]}]}}}]}", ""},
		{"{any: [{resources: {kinds: [Deployment], selector: {matchExpressions: [{key: app, operator: Is}]}}}]}", ""},
		{"{any: [{resources: {kinds: [Deployment, Service], names: [web], namespaceSelector: {matchLabels: {tier: gold}}}}]}", "Deployment team-a/web, Deployment team-b/web, Service team-a/web"},
		{"{any: [{resources: {kinds: [Deployment, Service], names: [web], namespaceSelector: {matchLabels: {tier: silver}}}}]}", "Deployment team-b/web"},
		{"{any: [{resources: {kinds: [Deployment], names: [web], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: team-a}}}}]}", "Deployment team-a/web"},
		{"{any: [{resources: {kinds: [Deployment], names: [web], namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [team-b]}]}}}]}", "Deployment team-a/web"},
		{"{any: [{resources: {kinds: [Namespace], namespaceSelector: {matchLabels: {tier: silver}}}}]}", "Namespace team-a"},
	} {
		found := checker.Exempted(matching(t, tc.match))
		if got := short(found.Resources); got != tc.want || !found.Known || found.Cut || found.Count != len(found.Resources) {
			t.Errorf("%s: %q (%+v), want %q", tc.match, got, found, tc.want)
		}
	}
}

func TestExemptedSaysWhatItAssumes(t *testing.T) {
	checker := must.Get(shape.New(world))(t)
	for match, want := range map[string][]string{
		"{any: [{resources: {kinds: [Deployment]}}]}":                                                           nil,
		"{any: [{resources: {kinds: [Deployment]}, clusterRoles: [admin]}]}":                                    {"that the request is from a user that the match requires"},
		"{any: [{resources: {kinds: [Deployment, CronJob], namespaces: [team-a]}}]}":                            {"that objects without a namespace in their file are in one that matches"},
		"{any: [{resources: {kinds: [Deployment], namespaceSelector: {matchLabels: {tier: gold}}}}]}":           {"that namespaces which are in no file have the labels"},
		"{any: [{resources: {kinds: [v1/Pod]}}]}":                                                               {"that no controller makes more of these objects, such as the Pods of a Deployment"},
		"{any: [{resources: {kinds: [Service]}}]}\n  conditions: {any: [{key: a, operator: Equals, value: b}]}": {"that the conditions hold"},
	} {
		expect.Equal(t, match, want, checker.Exempted(matching(t, match)).Assumed)
	}
}

func TestExemptedIsNotKnown(t *testing.T) {
	checker := must.Get(shape.New(world))(t)
	unasked := must.Get(shape.New(shape.Config{}))(t)
	for name, found := range map[string]shape.Exemption{
		"a bad condition":   checker.Exempted(change{of: policies, old: "== 'team-a'", new: "= 'team-a'"}.document(t)),
		"another kind":      checker.Exempted(documents(object("v1/Pod web"))[0]),
		"without resources": unasked.Exempted(change{of: legacy}.document(t)),
	} {
		expect.That(t, !found.Known && found.Count == 0 && found.Resources == nil, "%s: %+v", name, found)
	}
}

func TestExemptedIsBounded(t *testing.T) {
	var objects []string
	for i := range 3000 {
		objects = append(objects, object(fmt.Sprintf("v1/ConfigMap team-a/%s-%04d", strings.Repeat("a", 200), i)))
	}
	checker := must.Get(shape.New(having(objects...)))(t)
	byName := func(a, b exception.Identity) int { return strings.Compare(a.Name, b.Name) }
	for _, d := range []*exception.Document{
		matching(t, "{any: [{resources: {kinds: [ConfigMap]}}]}"), documents(conditional("e", validating, "object.kind == 'ConfigMap'"))[0],
	} {
		found := checker.Exempted(d)
		expect.That(t, found.Count == 3000 && len(found.Resources) == shape.MaxExempted && !found.Cut && slices.IsSortedFunc(found.Resources, byName),
			"%d of %d, cut: %v", len(found.Resources), found.Count, found.Cut)
	}
	// A pattern that is tried at every position of every name.
	slow := "'*" + strings.Repeat("a", 100) + "b*'"
	found := checker.Exempted(matching(t, "{any: [{resources: {kinds: [ConfigMap], names: ["+strings.Repeat(slow+", ", 500)+slow+"]}}]}"))
	expect.That(t, found.Cut && found.Count == 0, "%d, cut: %v", found.Count, found.Cut)
}

// having returns a configuration with resources, which object writes.
func having(objects ...string) shape.Config {
	return shape.Config{Resources: shape.ReadResources(documents(strings.Join(objects, "---\n")))}
}

// object returns the YAML of "group/version/Kind namespace/name".
func object(what string, fields ...string) string {
	kind, name, _ := strings.Cut(what, " ")
	i := strings.LastIndex(kind, "/")
	text := "apiVersion: " + kind[:i] + "\nkind: " + kind[i+1:] + "\nmetadata:\n"
	if namespace, bare, namespaced := strings.Cut(name, "/"); namespaced {
		text += "  namespace: " + namespace + "\n"
		name = bare
	}
	text += "  name: " + name + "\n"
	for _, field := range fields {
		text += "  " + field + "\n"
	}
	return text
}

var exemptsNothingCases = []change{
	{name: "one is exempt", of: legacy, config: having(object("apps/v1/Deployment team-a/web"))},
	{name: "its namespace is not written", of: legacy, config: having(object("apps/v1/Deployment web"))},
	{name: "none is", of: legacy, config: having(object("apps/v1/Deployment team-b/web"), object("apps/v1/Deployment team-a/api"), object("apps/v1/StatefulSet team-a/web")),
		want: []string{"13 exempts-nothing spec.match (warning)"}},
	{name: "there are none", of: legacy, config: having(), want: []string{"13 exempts-nothing spec.match (warning)"}},
	{name: "Pods are made by others", of: legacy, config: having(), old: "[Deployment]", new: "[Deployment, v1/Pod]"},
	{name: "conditions hold of one", of: policies, config: having(object("apps/v1/Deployment team-a/web"))},
	{name: "conditions hold of none", of: policies, config: having(object("apps/v1/Deployment team-b/web")),
		want: []string{"10 exempts-nothing spec.matchConditions (warning)"}},
	{name: "conditions hold of one in no namespace", of: policies, config: having(object("rbac.authorization.k8s.io/v1/ClusterRole web")),
		old: "object.metadata.namespace == 'team-a'", new: "object.kind == 'ClusterRole'"},
	{name: "conditions may hold of one", of: policies, config: having(object("apps/v1/Deployment web"))},
	{name: "a condition does not compile", of: policies, config: having(), old: "== 'team-a'", new: "= 'team-a'",
		want: []string{"12 bad-expression spec.matchConditions[0].expression", alsoReaches}},
	{name: "conditions for what others make", of: policies, config: having(), old: "== 'team-a'", new: "== 'team-a' && object.kind == 'Pod'"},
	{name: "conditions that files cannot tell", of: policies, config: having(), old: "== 'team-a'", new: "== 'team-a' && object.spec.replicas == 2"},
}
