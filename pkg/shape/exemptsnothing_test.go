package shape_test

import (
	"strings"

	"github.com/polex-dev/polex/pkg/shape"
)

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
