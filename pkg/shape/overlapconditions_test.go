package shape_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
)

// TestOverlapsOfConditionsByExample has conditions with different texts, and the resource for which both are true.
func TestOverlapsOfConditionsByExample(t *testing.T) {
	const web = "object.metadata.name == 'web' && object.metadata.namespace == 'team-a'"
	const same = "under the same conditions"
	for _, tc := range []struct{ one, two, want string }{
		{web, "object.metadata.namespace == 'team-a' && object.metadata.name == 'web'", same},
		{web, "(object.metadata.name=='web' )", same},
		{"object.metadata.name == 'web' && object.spec.replicas == 2", "object.metadata.name == 'web'", same},
		{web + " && object.spec.x in ['a']", "(object.metadata.name == \"web\") && object.metadata.namespace == 'team-a'", ""},
		{web + " && request.operation == 'UPDATE'", "object.metadata.namespace == 'team-a' && request.operation == 'UPDATE'", same},
		{web, "object != null && has(object.metadata) && has(object.metadata.namespace) && (object.apiVersion == 'apps/v1' && object.kind == 'Deployment' && object.metadata.name == 'web' || object.apiVersion == 'v1' && object.kind == 'Service')", "Deployment team-a/web"},
		{"object.apiVersion == 'v1' && object.kind == 'Pod'", "object.kind == 'Pod' && object.apiVersion == 'example.com/v1'", ""},
		{"object.kind == 'Namespace' && object.metadata.namespace == 'web'", "object.kind == 'Namespace' && object.metadata.name == 'web'", ""},
		{"object.kind == 'ClusterRole' && object.metadata.namespace == 'web'", "object.kind == 'ClusterRole' && request.namespace == 'web' && request.name == 'a'", ""},
		{"object.kind == 'Deployment' && object.metadata.name == 'w*'", "object.kind == 'Deployment' && object.metadata.name == 'web'", ""},
		{"object.kind == 'Pod' && object.metadata.labels.app == 'a'", "object.kind == 'Pod' && object.metadata.labels['app'] == 'b'", ""},
		{"object.kind == 'Pod' && object.metadata.labels.app == 'a' && object.metadata.labels.app == 'b'", "object.kind == 'Pod' && object.metadata.name == 'b'", ""},
		{web, "object.metadata.name in ['api', 'web'] && object.kind == 'StatefulSet'", "StatefulSet team-a/web"},
		{web, "object.metadata.name == 'web' && 'app' in object.metadata.labels && object.metadata.labels.app.startsWith('x')", "Deployment team-a/web"},
		{web, "request.name == 'web' && request.namespace == 'team-a' && request.kind.kind == 'CronJob'", "CronJob team-a/web"},
		{web, "[request.operation == 'DELETE' ? oldObject : object].exists(it, (it.kind == 'StatefulSet' || it.kind == 'Pod') && it.metadata.name == 'web')", "StatefulSet team-a/web"},
		{web, "object.metadata.name == 'web' && request.userInfo.username == 'alice'", "Deployment team-a/web"},
		{"object.kind == 'Deployment' ; object.metadata.name.startsWith('web-')", "object.kind == 'Deployment' ; object.metadata.name.endsWith('-db')", "Deployment web-any-db"},
		{"object.kind == 'Deployment' ; object.metadata.name == 'web-1'", "object.kind == 'Deployment' ; object.metadata.name.contains('b-')", "Deployment web-1"},
		{"object.kind == 'Deployment' ; object.metadata.labels.app == 'web'", "object.kind == 'Deployment' ; object.metadata.labels.tier == 'gold'", "Deployment any"},

		// Conditions without a common resource, or without a known one.
		{web + " && request.operation == 'UPDATE'", "object.metadata.name == 'web' && request.operation in ['UPDATE', 'DELETE']", ""},
		{"[request.operation == 'DELETE' ? oldObject : object].exists(it, it.metadata.name == 'web')", "request.operation == 'DELETE' && oldObject.metadata.name == 'web'", ""},
		{"object.kind == 'ClusterRole' && object.metadata.name == 'web'", "object.metadata.name == 'web' && !has(object.metadata.namespace)", ""},
		{web, "object.metadata.name == 'web' && object.apiVersion == 'example.com/v1'", ""},
		{web, "object.metadata.name == 'web' && request.operation == 'CREATE'", ""},
		{web, "object.metadata.name == 'web' && namespaceObject.metadata.labels.tier == 'gold'", ""},
		{web, "object.metadata.name == 'web' && object.metadata.?labels.app.orValue('') == 'x'", "Deployment team-a/web"},
		{web, "object.metadata['name'] == 'web' && has(object.metadata.labels) && object.metadata.labels['a.b/c'] == 'd'", ""},
		{web, "object.metadata.name == 'web' && object.metadata.namespace == 'team-b'", ""},
		{web, "object.metadata.name == 'web' && object.metadata.namespace != 'team-a'", ""},
		{web, "object.metadata.name == 'api' && object.metadata.namespace == 'team-a'", ""},
		{web, "object.metadata.name == 'web' && object.spec.replicas == 2", ""},
		{web, "object.metadata.name == 'web' && object.metadata.uid == 'x'", ""},
		{web, "object.metadata.name == 'web' && object.metadata.namespace = 'team-a'", ""},
		{web, "object.metadata.name == 'web' && quantity('1Gi').isGreaterThan(quantity('1Mi'))", ""},
		{"object.kind == 'Deployment' ; object.metadata.name.startsWith('web-')", "object.kind == 'Deployment' ; object.metadata.name.startsWith('api-')", ""},
		{"object.kind == 'Deployment' ; object.metadata.labels.app == 'web'", "object.kind == 'Deployment' ; object.metadata.labels.app == 'api'", ""},
		{web + " && request.userInfo.username == 'bob'", "object.metadata.name == 'web' && request.userInfo.username == 'alice'", ""},
		{web + " && request.userInfo.username == 'bob'", "object.metadata.name == 'web' && !(request.userInfo.username == 'bob')", ""},
		{web, "request.operation == 'DELETE' && oldObject.metadata.name == 'web'", ""},
		{web + " && request.operation == 'UPDATE'", "object.metadata.name == 'web' && request.operation == 'CREATE'", ""},
	} {
		one := conditional("one", validating, strings.Split(tc.one, " ; ")...)
		two := conditional("two", validating, strings.Split(tc.two, " ; ")...)
		for _, pair := range [][2]string{{one, two}, {two, one}} {
			var set shape.Set
			added(&set, pair[0])
			found := added(&set, pair[1])
			if len(found) > 1 || len(found) == 1 != (tc.want != "") {
				t.Errorf("%s\n%s: %v", tc.one, tc.two, found)
				continue
			}
			for _, f := range found {
				end := fmt.Sprintf("e.g. %q", tc.want)
				if tc.want == same {
					end = same
				}
				if f.Reason != shape.ReasonOverlaps || f.Severity != shape.Warning || !strings.HasSuffix(f.Message, end) {
					t.Errorf("%s\n%s: %+v, want %q", tc.one, tc.two, f, tc.want)
				}
			}
		}
	}
}

// TestOverlapsOfConditionsAreFoundAmongMany has a thousand exceptions that share conditions, and
// one more for the same name in another form.
func TestOverlapsOfConditionsAreFoundAmongMany(t *testing.T) {
	var set shape.Set
	for i := range 1000 {
		if found := added(&set, conditional(fmt.Sprintf("e%d", i), validating, "object.kind == 'Deployment'", "object.metadata.namespace == 'team-a'", fmt.Sprintf("object.metadata.name == 'web-%d'", i))); found != nil {
			t.Fatal(found)
		}
	}
	found := added(&set, conditional("last", validating, "object.kind == 'Deployment'", "has(object.metadata.namespace) && object.metadata.name == 'web-777'"))
	expect.That(t, len(found) == 1 && strings.Contains(found[0].Message, "e777"), "%v", found)
}
