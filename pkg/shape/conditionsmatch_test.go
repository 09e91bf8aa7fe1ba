package shape_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
)

// witnessCases are conditions that are not constant and still say nothing of
// the resource, with what is said about them, or nothing when they are narrow.
var witnessCases = []struct{ expression, said string }{
	{"object.metadata.name.matches('.*')", "every resource that is created or updated"},
	{"size(object.metadata.name) > 0", "every resource that is created or updated"},
	{"object.kind != 'x'", "every resource that is created or updated"},
	{"object.metadata.namespace != 'prod'", "every namespaced resource that is created or updated"},
	{"!has(object.metadata.labels.strict)", "every labelled resource that is created or updated"},
	{"!has(object.metadata.labels) || !has(object.metadata.labels.strict)", "every resource that is created or updated"},
	{"!('strict' in object.metadata.?labels.orValue({}))", "every resource that is created or updated"},
	{"object.metadata.?labels['strict'].orValue('no') == 'no'", "every resource that is created or updated"},
	{"has(object.metadata.namespace)", "every namespaced resource that is created or updated"},
	{"!has(object.metadata.namespace)", "every cluster-scoped resource that is created or updated"},
	{"has(object.metadata.labels)", "every labelled resource that is created or updated"},
	{"!has(object.metadata.annotations.strict)", "every labelled resource that is created or updated"},
	{"!has(object.metadata.ownerReferences)", "every resource that is created or updated"},
	{"has(object.metadata)", "every resource that is created or updated"},
	{"request.operation == 'CREATE'", "every resource that is created"},
	{"request.operation != 'CREATE'", "every resource that is updated or deleted"},
	{"request.operation in ['CREATE', 'UPDATE', 'DELETE', 'CONNECT']", "every resource"},
	{"object == null", "every resource that is deleted"},
	{"oldObject == null", "every resource that is created"},
	{"oldObject != null && oldObject.metadata.name == request.name", "every resource that is updated or deleted"},
	{"request.userInfo.username.startsWith('system:serviceaccount:')", "every resource that is asked for by a service account"},
	{"request.operation == 'CREATE' && !request.userInfo.username.startsWith('system:')", "every resource that is created by a user"},
	{"request.userInfo.username != 'root'", "every resource"},
	{"'system:authenticated' in request.userInfo.groups", "every resource"},
	{"request.namespace != 'prod'", "every namespaced resource"},
	{"request.?namespace.orValue('') != 'prod'", "every resource"},
	{"namespaceObject.metadata.name != 'prod'", "every namespaced resource"},
	{"!(request.name in ['a', 'b'])", "every resource"},
	{"object.metadata.name == request.name", "every resource that is created or updated"},
	{"object.metadata.name == 'web' || object.metadata.name != 'web'", "is true of every resource"},
	{"object.metadata.name == 'a' ? true : 1 < 2", "every resource that is created or updated"},
	{"['a', 'b'].all(n, object.metadata.name != n)", "every resource that is created or updated"},
	{"object.metadata.name.replace('a', '') != 'x'", "every resource that is created or updated"},
	{"object.kind == 'Deployment'", "every namespaced Deployment that is created or updated"},
	{"object.kind in ['Deployment', 'Widget']", "every Deployment or Widget that is created or updated"},
	{"object.kind == 'Widget' && request.operation == 'CREATE'", "every Widget that is created"},
	{"request.kind.kind == 'Widget' && has(object.metadata.namespace)", "every namespaced Widget that is created or updated"},
	{"request.resource.resource == 'pods'", "every namespaced Pod"},
	{"object.apiVersion == 'v1'", "every Pod or ConfigMap or PersistentVolume"},
	{"object.spec.containers.all(c, c.image != 'evil')", "every namespaced Pod that is created or updated"},
	{"object.spec.replicas > 0", "every namespaced Deployment that is created or updated"},
	{"object.metadata.name.find('.*') != 'x'", "every resource that is created or updated"},
	{"object.metadata.name.findAll('.').size() > 0", "every resource that is created or updated"},
	{"object.metadata.name.findAll('[a-z]', 1) != ['']", "every resource that is created or updated"},
	{"!isIP(object.metadata.name)", "every resource that is created or updated"},
	{"!isCIDR(object.metadata.name) && !isURL(object.metadata.name)", "every resource that is created or updated"},
	{"quantity('1').isInteger()", "is true of every resource"},
	{"isURL('http://a') && isIP('10.0.0.1') && isCIDR('10.0.0.0/8') && !isIP('::ffff:10.0.0.1')", "is true of every resource"},
	{"url('http://a').getHost() == 'a' || object.kind != 'x'", "every resource that is created or updated"},

	{"object.metadata.name == 'web'", ""},
	{"object.metadata.namespace == 'team-a'", ""},
	{"object.metadata.name.find('^web-[0-9]+$') != ''", ""},
	{"isIP(object.metadata.name)", ""},
	{"object.metadata.namespace in ['team-a', 'team-b'] && object.kind == 'Deployment'", ""},
	{"object.metadata.name.startsWith('agent-')", ""},
	{"object.metadata.?labels['app'].orValue('') == 'web'", ""},
	{"has(object.metadata.labels.exempt)", ""},
	{"object.spec.template.spec.serviceAccountName == 'web'", ""},
	{"object.spec.containers.exists(c, c.image.startsWith('registry.example.com/team-a/'))", ""},
	{"request.userInfo.username == 'system:serviceaccount:team-a:deployer'", ""},
	{"namespaceObject.metadata.labels.team == 'a'", ""},
	{"oldObject.metadata.name == 'web'", ""},
	{"quantity(object.spec.cpu).isLessThan(quantity('1')) || object.metadata.name == 'web'", ""},
	{"object.metadata.name in ['" + strings.ReplaceAll(manyNames(840), ", ", "', '") + "']", ""},
	{"quantity(object.metadata.name) != quantity('1')", ""}, // not evaluated, so not judged
}

// exceptReaches leaves out what [shape.ReasonReachesGuard] finds in most conditions that
// are not plain; internal/kyverno has the tests of that.
func exceptReaches(found []shape.Finding) []shape.Finding {
	return slices.DeleteFunc(found, func(f shape.Finding) bool { return f.Reason == shape.ReasonReachesGuard })
}

func TestWitnesses(t *testing.T) {
	for _, tc := range witnessCases {
		found := exceptReaches(change{of: policies, old: goodCondition, new: quote(tc.expression)}.findings(t))
		switch {
		case tc.said == "" && len(found) > 0:
			t.Errorf("%s: %+v", tc.expression, found)
		case tc.said == "":
		case len(found) != 1 || found[0].Reason != "matches-everything" || found[0].Path.String() != "spec.matchConditions[0].expression":
			t.Errorf("%s: %+v", tc.expression, found)
		case !strings.HasSuffix(found[0].Message, tc.said) && !strings.Contains(found[0].Message, tc.said+" that is created or updated"):
			t.Errorf("%s: %s", tc.expression, found[0].Message)
		}
	}
}

// TestWitnessesTakeConditionsTogether: conditions are joined by "and".
func TestWitnessesTakeConditionsTogether(t *testing.T) {
	for _, tc := range []struct {
		first, second string
		want          string
	}{
		{"object.kind != 'x'", "object.metadata.name != 'y'", "spec.matchConditions"},
		{"object.kind != 'x'", "object.metadata.name == 'y'", ""},
		{"request.operation == 'CREATE'", "object.kind == 'Pod'", "spec.matchConditions"},
		{"request.operation == 'CREATE'", "request.operation == 'DELETE'", ""},
		{"object.kind == 'Pod'", "object.kind == 'Deployment'", ""},
	} {
		found := exceptReaches(change{of: policies, old: goodCondition, new: quote(tc.first) + "\n  - name: b\n    expression: " + quote(tc.second)}.findings(t))
		if tc.want == "" && len(found) > 0 || tc.want != "" && (len(found) != 1 || found[0].Path.String() != tc.want || found[0].Reason != "matches-everything") {
			t.Errorf("%s and %s: %+v", tc.first, tc.second, found)
		}
	}
}
