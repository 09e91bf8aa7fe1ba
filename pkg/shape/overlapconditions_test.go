package shape_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
)

// TestOverlapsOfConditionsByExample has conditions that are not the same texts,
// and the resource that both are true of.
func TestOverlapsOfConditionsByExample(t *testing.T) {
	const web = "object.metadata.name == 'web' && object.metadata.namespace == 'team-a'"
	for _, tc := range []struct{ one, two, want string }{
		{web, "object.metadata.namespace == 'team-a' && object.metadata.name == 'web'", "Deployment team-a/web"},
		{web, "object.metadata.name == 'web'", "Deployment team-a/web"},
		{web, "object.metadata.name in ['api', 'web'] && object.kind == 'StatefulSet'", "StatefulSet team-a/web"},
		{web, "object.metadata['name'] == 'web' && has(object.metadata.labels) && object.metadata.labels['a.b/c'] == 'd'", "Deployment team-a/web"},
		{web, "object.metadata.name == 'web' && object.metadata.?labels.app.orValue('') == 'x'", "Deployment team-a/web"},
		{web, "object.metadata.name == 'web' && 'app' in object.metadata.labels && object.metadata.labels.app.startsWith('x')", "Deployment team-a/web"},
		{web, "request.name == 'web' && request.namespace == 'team-a' && request.kind.kind == 'CronJob'", "CronJob team-a/web"},
		{web, "[request.operation == 'DELETE' ? oldObject : object].exists(it, (it.kind == 'StatefulSet' || it.kind == 'Pod') && it.metadata.name == 'web')", "StatefulSet team-a/web"},
		{web, "object.metadata.name == 'web' && namespaceObject.metadata.labels.tier == 'gold'", "Deployment team-a/web"},
		{web, "object.metadata.name == 'web' && request.userInfo.username == 'alice'", "Deployment team-a/web"},
		{web, "object.metadata.name == 'web' && request.operation == 'CREATE'", "Deployment team-a/web"},
		{web, "object.metadata.name == 'web' && object.apiVersion == 'example.com/v1'", "Deployment team-a/web"},
		{"object.kind == 'ClusterRole' && object.metadata.name == 'web'", "object.metadata.name == 'web' && !has(object.metadata.namespace)", "ClusterRole web"},
		{"object.kind == 'Deployment' ; object.metadata.name.startsWith('web-')", "object.kind == 'Deployment' ; object.metadata.name.endsWith('-db')", "Deployment any/web-any-db"},
		{"object.kind == 'Deployment' ; object.metadata.name == 'web-1'", "object.kind == 'Deployment' ; object.metadata.name.contains('b-')", "Deployment any/web-1"},
		{"object.kind == 'Deployment' ; object.metadata.labels.app == 'web'", "object.kind == 'Deployment' ; object.metadata.labels.tier == 'gold'", "Deployment any/any"},
		{"[request.operation == 'DELETE' ? oldObject : object].exists(it, it.metadata.name == 'web')", "request.operation == 'DELETE' && oldObject.metadata.name == 'web'", "Deployment any/web"},
		{web + " && request.operation == 'UPDATE'", "object.metadata.name == 'web' && request.operation in ['UPDATE', 'DELETE']", "Deployment team-a/web"},

		// What does not meet, or is not known to.
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
				if f.Reason != shape.ReasonOverlaps || f.Severity != shape.Warning || !strings.HasSuffix(f.Message, fmt.Sprintf("such as %q", tc.want)) {
					t.Errorf("%s\n%s: %+v, want %q", tc.one, tc.two, f, tc.want)
				}
			}
		}
	}
}

// TestOverlapsOfConditionsWhereTheyFail: that a policy leaves alone what a
// condition fails on makes no overlap.
func TestOverlapsOfConditionsWhereTheyFail(t *testing.T) {
	const mutating = "{name: p, kind: MutatingPolicy}"
	var set shape.Set
	added(&set, conditional("one", mutating, "object.metadata.name == 'web'"))
	if found := added(&set, conditional("two", mutating, "object.metadata.name == 'web' && object.spec.replicas == 2")); found != nil {
		t.Error(found)
	}
}

// TestOverlapsOfConditionsAreFoundAmongMany has a thousand exceptions that share
// conditions, and one more for a name of theirs in other words.
func TestOverlapsOfConditionsAreFoundAmongMany(t *testing.T) {
	var set shape.Set
	for i := range 1000 {
		if found := added(&set, conditional(fmt.Sprintf("e%d", i), validating, "object.kind == 'Deployment'", "object.metadata.namespace == 'team-a'", fmt.Sprintf("object.metadata.name == 'web-%d'", i))); found != nil {
			t.Fatal(found)
		}
	}
	found := added(&set, conditional("last", validating, "object.kind == 'Deployment'", "has(object.metadata.namespace) && object.metadata.name == 'web-777'"))
	if len(found) != 1 || !strings.Contains(found[0].Message, "e777") {
		t.Error(found)
	}
}

// TestOverlapsOfConditionsAreBounded: an exception is tried with a few others.
func TestOverlapsOfConditionsAreBounded(t *testing.T) {
	for others, want := range map[int]int{2: 1, 10: 0} {
		var set shape.Set
		for i := range others {
			added(&set, conditional(fmt.Sprintf("e%d", i), validating, "object.kind == 'Deployment'", fmt.Sprintf("object.metadata.labels.app == 'a%d'", i)))
		}
		added(&set, conditional("other", validating, "object.kind == 'Deployment'", "object.metadata.labels.tier.startsWith('g')", "object.metadata.labels.app == 'last'"))
		if found := added(&set, conditional("last", validating, "object.kind == 'Deployment'", "object.metadata.labels.tier == 'gold'", "object.metadata.labels.app.startsWith('l')")); len(found) != want {
			t.Errorf("after %d: %v", others, found)
		}
	}
}
