package shape_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

// town is a repository. Some of its files have a namespace, labels and a spec.
var town = having(townObjects...)

var townObjects = []string{
	object("v1/Namespace team-a", "labels: {tier: gold}"),
	"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: team-a, labels: {app: web}}\nspec: {replicas: 2, template: {spec: {containers: [{name: a, image: registry.example/a}]}}}\n",
	object("apps/v1/Deployment team-b/web", "labels: {app: web}"),
	object("apps/v1/StatefulSet team-b/db"),
	object("v1/Service team-a/web"),
	object("batch/v1/CronJob nightly"),
	object("rbac.authorization.k8s.io/v1/ClusterRole reader"),
	object("example.com/v1/Gateway team-a/web"),
	object("example.com/v1/Namespace team-b/odd"),
}

const townsfolk = "ClusterRole reader, CronJob nightly, Deployment team-a/web, Deployment team-b/web, Gateway team-a/web, Namespace team-a, Namespace team-b/odd, Service team-a/web, StatefulSet team-b/db"

// assumedWords are short names of the assumptions.
var assumedWords = map[string]string{
	"the request is from":         "sender",
	"without a namespace":         "namespace",
	"namespaces which are in no":  "labels",
	"generated names":             "name",
	"created, updated or deleted": "operation",
	"values which the API":        "server",
	"the URLs of custom kinds":    "URL",
	"not evaluated here":          "function",
	"costs too much":              "cost",
	"a condition cannot":          "left-out",
	"no controller makes more":    "made",
}

func assumedIn(found shape.Exemption) string {
	var words []string
	for _, text := range found.Assumed {
		for part, word := range assumedWords {
			if strings.Contains(text, part) {
				words = append(words, word)
			}
		}
	}
	if len(words) != len(found.Assumed) {
		return fmt.Sprintf("%q", found.Assumed)
	}
	return strings.Join(words, " ")
}

func exempted(t *testing.T, config shape.Config, source string) shape.Exemption {
	t.Helper()
	checker, err := shape.New(config)
	if err != nil {
		t.Fatal(err)
	}
	d, err := exception.Parse([]byte(source), "file.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return checker.Exempted(d)
}

const validating = "{name: p, kind: ValidatingPolicy}"

// exemptingCase has conditions, the resources in town for which they are true, and the assumptions
// for that.
type exemptingCase struct{ conditions, want, assumed string }

func (c exemptingCase) list() []string {
	if c.conditions == "" {
		return nil
	}
	return strings.Split(c.conditions, " ; ")
}

var exemptingCases = []exemptingCase{
	// Values in a file.
	{"object.metadata.name == 'web'", "Deployment team-a/web, Deployment team-b/web, Gateway team-a/web, Service team-a/web", ""},
	{"'web' == object.metadata.name && object.kind == 'Deployment'", "Deployment team-a/web, Deployment team-b/web", ""},
	{"object.kind == 'Deployment' ; object.metadata.namespace == 'team-b'", "Deployment team-b/web", ""},
	{"object.kind in ['Service', 'StatefulSet'] && request.kind.kind in ['StatefulSet', 'CronJob']", "StatefulSet team-b/db", ""},
	{"object.kind == 'Service' || object.kind == 'StatefulSet' && object.metadata.name == 'db'", "Service team-a/web, StatefulSet team-b/db", ""},
	{"object.kind == 'Service' || object.metadata.name == 'db'", "Service team-a/web, StatefulSet team-b/db", ""},
	{"object.kind == 'Service' && object.kind == 'StatefulSet'", "", ""},
	{"object.kind in []", "", ""},
	{"!(object.kind in ['Deployment', 'Namespace', 'Service', 'Gateway', 'CronJob', 'ClusterRole'])", "StatefulSet team-b/db", ""},
	{"object.kind == 'Deployment' && object.spec.template.spec.containers.all(c, c.image.startsWith('registry.example/'))", "Deployment team-a/web", ""},
	{"object.?spec.replicas.orValue(1) == 2", "Deployment team-a/web", ""},
	{"[object].exists(o, o.metadata.name == 'db')", "StatefulSet team-b/db", ""},
	{"[object].exists(o, o.metadata.name == 'db')", "StatefulSet team-b/db", ""},
	{"[object, dyn({'kind': 'Service'})].exists(o, o.kind == 'Service')", townsfolk, ""},
	{"[object.kind == 'Service' ? object : dyn({'kind': 'None'})].exists(o, o.kind != 'None')", "Service team-a/web", ""},
	{"[object.kind == 'Service' ? object : dyn({'kind': 'StatefulSet'})].exists(o, o.kind == 'StatefulSet') && object.kind in ['CronJob', 'Service']", "CronJob nightly", ""},
	{"request.name == 'db' && request.operation in ['CREATE', 'UPDATE']", "StatefulSet team-b/db", ""},
	{"request.kind.group == 'apps' && request.kind.version == 'v1' && request.kind.kind == 'StatefulSet'", "StatefulSet team-b/db", ""},
	{"request.resource.resource in ['statefulsets', 'clusterroles']", "ClusterRole reader, Gateway team-a/web, Namespace team-b/odd, StatefulSet team-b/db", "URL"},
	{"request.object.metadata.name == 'db' && !has(request.subResource)", "StatefulSet team-b/db", ""},
	{"", townsfolk, ""},

	// Labels.
	{"object.metadata.labels.app == 'web'", "Deployment team-a/web, Deployment team-b/web", ""},
	{"has(object.metadata.labels) && 'app' in object.metadata.labels && object.metadata.labels['app'] == 'web'", "Deployment team-a/web, Deployment team-b/web", ""},
	{"has(object.metadata.labels) && !('app' in object.metadata.labels)", "Namespace team-a", ""},

	// The namespace: the CronJob does not state one, and the ClusterRole has none.
	{"object.metadata.namespace == 'team-b'", "CronJob nightly, Deployment team-b/web, Namespace team-b/odd, StatefulSet team-b/db", "namespace"},
	{"!has(object.metadata.namespace)", "ClusterRole reader, CronJob nightly, Namespace team-a", "namespace"},
	{"object.kind == 'CronJob' && object.metadata.namespace.startsWith('team-')", "CronJob nightly", "namespace"},
	{"request.namespace == 'team-a' && object.kind in ['CronJob', 'Namespace', 'Service', 'StatefulSet']", "CronJob nightly, Namespace team-a, Service team-a/web", "namespace"},

	// The namespace's own labels: those of team-a are in a file.
	{"namespaceObject.metadata.name == 'team-b' && object.metadata.name == 'web'", "Deployment team-b/web", ""},
	{"namespaceObject.metadata.labels.tier == 'gold' && object.metadata.name == 'web'", "Deployment team-a/web, Deployment team-b/web, Gateway team-a/web, Service team-a/web", "labels"},
	{"namespaceObject.metadata.labels['tier'] == 'silver' && object.metadata.name == 'web'", "Deployment team-b/web", "labels"},
	{"'tier' in namespaceObject.metadata.labels && object.kind == 'StatefulSet'", "StatefulSet team-b/db", "labels"},
	{"!('tier' in namespaceObject.metadata.labels) && object.kind in ['StatefulSet', 'Service']", "StatefulSet team-b/db", "labels"},
	{"has(namespaceObject.metadata.labels.tier) && object.kind == 'CronJob'", "CronJob nightly", "namespace"},
	{"namespaceObject.metadata.labels.exists(k, k == 'x') && object.kind in ['StatefulSet', 'Service']", "StatefulSet team-b/db", "labels"},
	{"namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == 'team-a' && object.kind in ['StatefulSet', 'Service']", "Service team-a/web", ""},
	{"has(namespaceObject.metadata.annotations) && object.kind in ['StatefulSet', 'Service']", "StatefulSet team-b/db", "labels"},
	{"namespaceObject == null && object.kind != 'CronJob'", "ClusterRole reader, Namespace team-a", "operation"},
	{"namespaceObject != null && object.kind == 'Namespace'", "Namespace team-a, Namespace team-b/odd", "operation"},

	// The user.
	{"request.userInfo.username == 'alice' && object.kind == 'Service'", "Service team-a/web", "sender"},
	{"object.metadata.labels.app == 'web' && 'ops' in request.userInfo.groups", "Deployment team-a/web, Deployment team-b/web", "sender"},
	{"'ops' in request.userInfo.groups && object.metadata.labels.app == 'web'", "Deployment team-a/web, Deployment team-b/web", "sender"},
	{"request.userInfo.groups.exists(g, g == 'ops') || object.kind == 'Service'", townsfolk, "sender"},
	{"!(request.userInfo.username == 'alice') && object.kind == 'Service'", "Service team-a/web", "sender"},
	{"request.userInfo.username == 'alice' && false", "", ""},
	{"!(request.userInfo.username == 'alice' && object.spec.replicas == 3) && object.kind == 'Service'", "Service team-a/web", "sender"},
	{"!(request.userInfo.username == 'alice' || object.spec.replicas == 3) && object.kind == 'Service'", "", ""},
	{"(object.kind == 'Service' ? request.userInfo.username : 'alice') == 'bob'", "Service team-a/web", "sender"},
	{"object[request.userInfo.username] == 'db' && object.kind == 'Service'", "Service team-a/web", "sender"},

	// The operation.
	{"request.operation == 'CREATE' && object.metadata.name == 'db'", "StatefulSet team-b/db", "operation"},
	{"request.operation == 'DELETE' && oldObject.metadata.name == 'db'", "StatefulSet team-b/db", "operation"},
	{"request.operation == 'DELETE' && object.metadata.name == 'db'", "", ""},
	{"oldObject.metadata.name == 'db'", "StatefulSet team-b/db", "operation"},
	{"oldObject == null && object.kind == 'StatefulSet'", "StatefulSet team-b/db", "operation"},
	{"request.oldObject == null && object.kind == 'StatefulSet'", "StatefulSet team-b/db", "operation"},
	{"!has(oldObject.metadata) && object.kind == 'StatefulSet'", "StatefulSet team-b/db", "operation"},
	{"!has(object.metadata) && oldObject.kind == 'StatefulSet'", "StatefulSet team-b/db", "operation"},
	{"!has(object.metadata)", townsfolk, "operation"},
	{"[request.operation == 'DELETE' ? oldObject : object].exists(o, o.metadata.name == 'db')", "StatefulSet team-b/db", ""},
	{"request.operation == 'CONNECT'", "", ""},
	{"has(request.subResource)", "", ""},

	// Additions of the API server.
	{"has(object.metadata.uid) && object.kind == 'Service'", "Service team-a/web", "server"},
	{"object.metadata.creationTimestamp < timestamp('2027-01-01T00:00:00Z') && object.kind == 'Service'", "Service team-a/web", "server"},
	{"object.status.loadBalancer == {} && object.kind == 'Service'", "Service team-a/web", "server"},
	{"request.dryRun && object.kind == 'Service'", "Service team-a/web", "server"},
	{"namespaceObject.status.phase == 'Active' && object.kind == 'Service'", "Service team-a/web", "server"},

	// Whole objects with unknown parts.
	{"object != null && object.kind == 'Service'", "Service team-a/web", ""},
	{"object.metadata.size() == 2 && object.kind == 'Service'", "Service team-a/web", "server"},
	{"object.metadata.map(k, 1) == [1, 1, 1, 1] && object.kind == 'Service'", "Service team-a/web", "function"},
	{"!object.metadata.exists(k, v, k == 'x') && object.kind == 'Service'", "Service team-a/web", "server"},
	{"{'name': 'web'} == object.metadata && object.kind == 'Service'", "Service team-a/web", "server"},
	{"!(object.metadata == {'name': 'web'}) && object.kind == 'Service'", "Service team-a/web", "server"},
	{"'%s'.format([object.metadata]) == 'x' && object.kind == 'Service'", "Service team-a/web", "function"},
	{"object.metadata.labels == {'app': 'web'}", "Deployment team-a/web, Deployment team-b/web", ""},

	// An error is not true in any case.
	{"object.spec.replicas == 2", "Deployment team-a/web", ""},
	{"object.spec.replicas == 3 || object.kind == 'Service'", "Service team-a/web", ""},
	{"object.spec.x == 'y' ; object.kind == 'Service'", "", ""},
	{"object.kind == 'Service' ; request.userInfo.username == object.spec.x", "", ""},
	{"object.kind || true", townsfolk, ""},
	{"object.kind || object.kind == 'Service'", "Service team-a/web", ""},

	// Expressions that are not evaluated.
	{"quantity('1Gi').isGreaterThan(quantity('1Mi')) && object.kind == 'Service'", "Service team-a/web", "function"},
	{loops(4, "a > 9") + " && object.kind == 'Service'", "Service team-a/web", "cost"},
	{"lists.range(100000).size() == 0 && object.kind == 'Service'", "Service team-a/web", "function"},
}

// TestExemptedByConditions tries each condition twice: unchanged, and in a form that cannot use the
// index of resources. The result is the same.
func TestExemptedByConditions(t *testing.T) {
	for _, tc := range exemptingCases {
		for _, wrapped := range []string{"%s", "(%s) || false"} {
			var conditions []string
			for _, c := range tc.list() {
				conditions = append(conditions, fmt.Sprintf(wrapped, c))
			}
			found := exempted(t, town, conditional("e", validating, conditions...))
			if got := short(found.Resources); got != tc.want || !found.Known || found.Cut || found.Count != len(found.Resources) {
				t.Errorf("%q: %q (%+v), want %q", conditions, got, found, tc.want)
			}
			if got := assumedIn(found); got != tc.assumed {
				t.Errorf("%q: assumes %q, want %q", conditions, got, tc.assumed)
			}
		}
	}
}

func TestExemptedByConditionsUnderGeneratedNames(t *testing.T) {
	config := having(
		"apiVersion: batch/v1\nkind: CronJob\nmetadata: {namespace: team-a, generateName: web-}\n",
		"apiVersion: batch/v1\nkind: CronJob\nmetadata: {namespace: team-a, generateName: "+strings.Repeat("a", 70)+"}\n",
		object("batch/v1/CronJob team-a/web-"),
	)
	const generated, long = "CronJob team-a/web-", "CronJob team-a/"
	for condition, want := range map[string]string{
		"object.metadata.name == 'web-x7b2c' && object.kind == 'CronJob'":                                                               generated + " name",
		"object.metadata.name in ['web-x7b2c', 'db'] && object.kind == 'CronJob'":                                                       generated + " name",
		"request.name == 'web-x7b2c' && object.kind == 'CronJob'":                                                                       generated + " name",
		"object.metadata.name == 'web-x7b2' && object.kind == 'CronJob'":                                                                " ",
		"object.metadata.name == 'api-x7b2c' && object.kind == 'CronJob'":                                                               " ",
		"object.metadata.name == '" + strings.Repeat("a", 58) + "x7b2c' && object.kind == 'CronJob'":                                    long + strings.Repeat("a", 70) + " name",
		"object.metadata.name.endsWith('c') && object.metadata.generateName == 'web-' && object.kind == 'CronJob'":                      generated + " name",
		"object.metadata.generateName == 'web-' && object.kind == 'CronJob'":                                                            generated + " ",
		"object.metadata.?name.orValue('') == '' && object.metadata.?generateName.orValue('') == 'web-' && object.kind == 'CronJob'":    generated + " name",
		"has(object.metadata.name) && !has(object.metadata.generateName) && object.metadata.name == 'web-' && object.kind == 'CronJob'": generated + " ",
	} {
		found := exempted(t, config, conditional("e", validating, condition))
		if got := short(found.Resources) + " " + assumedIn(found); got != want || !found.Known {
			t.Errorf("%s: %q, want %q", condition, got, want)
		}
	}
	// For mutating policies the name does not exist yet, and reading it is an error.
	found := exempted(t, config, conditional("e", "{name: p, kind: MutatingPolicy}", "object.metadata.name == 'db' && object.metadata.generateName == 'web-'"))
	if got := short(found.Resources) + " " + assumedIn(found); got != generated+" name" {
		t.Errorf("under a MutatingPolicy: %q", got)
	}
}

// TestExemptedWhereConditionsFail has a condition that is an error for all resources but one.
func TestExemptedWhereConditionsFail(t *testing.T) {
	const one, all = "Deployment team-a/web ", "ClusterRole reader, CronJob nightly, Deployment team-a/web, Deployment team-b/web, Gateway team-a/web, Namespace team-a, Namespace team-b/odd, Service team-a/web, StatefulSet team-b/db left-out"
	for kinds, want := range map[string]string{
		"ValidatingPolicy":                  one,
		"NamespacedImageValidatingPolicy":   one,
		"MutatingPolicy":                    all,
		"NamespacedGeneratingPolicy":        all,
		"DeletingPolicy":                    all,
		"ValidatingPolicy GeneratingPolicy": all,
	} {
		var refs []string
		for _, kind := range strings.Fields(kinds) {
			refs = append(refs, "{name: p, kind: "+kind+"}")
		}
		found := exempted(t, town, conditional("e", strings.Join(refs, ", "), "object.spec.replicas == 2"))
		if got := short(found.Resources) + " " + assumedIn(found); got != want {
			t.Errorf("%s: %q, want %q", kinds, got, want)
		}
	}
	// False is not an error. A condition that is false for deletions does not exempt all of them.
	for condition, want := range map[string]string{
		"object.metadata.name == 'db' && object.spec.replicas == 2":                      "StatefulSet team-b/db left-out",
		"object.metadata.name == 'db' && object.kind == 'StatefulSet'":                   "StatefulSet team-b/db ",
		"object.spec.replicas == 2 && object.metadata.name == 'nobody'":                  " ",
		"oldObject.metadata.name == 'db'":                                                townsfolk + " operation left-out",
		"request.operation == 'DELETE' && object.kind == 'Service'":                      " ",
		"oldObject.kind == 'Service' && object.kind == 'Service'":                        "Service team-a/web left-out",
		"object.metadata.namespace == 'team-b' && object.kind in ['Gateway', 'CronJob']": "CronJob nightly namespace",
	} {
		found := exempted(t, town, conditional("e", "{name: p, kind: GeneratingPolicy}", condition))
		if got := short(found.Resources) + " " + assumedIn(found); got != want {
			t.Errorf("%s: %q, want %q", condition, got, want)
		}
	}
}

// TestExemptedOnSchedule has conditions about a request. A DeletingPolicy has no request, so they
// are errors.
func TestExemptedOnSchedule(t *testing.T) {
	for condition, want := range map[string]string{
		"object.metadata.name == 'db'":                                      "StatefulSet team-b/db ",
		"object.kind == 'Service' && request.kind.kind == 'StatefulSet'":    "Service team-a/web left-out",
		"request.kind.kind == 'StatefulSet'":                                townsfolk + " left-out",
		"object.kind == 'Service' && has(oldObject.metadata)":               "Service team-a/web left-out",
		"object.kind == 'Service' && oldObject.kind == 'StatefulSet'":       "Service team-a/web left-out",
		"object.kind == 'Namespace' && namespaceObject.metadata.name == ''": " ",
	} {
		found := exempted(t, town, conditional("e", "{name: p, kind: DeletingPolicy}", condition))
		if got := short(found.Resources) + " " + assumedIn(found); got != want {
			t.Errorf("%s: %q, want %q", condition, got, want)
		}
	}
}

func TestExemptedByConditionsThatAreLeftOut(t *testing.T) {
	many := make([]string, 65)
	for i := range many {
		many[i] = "object.metadata.name == 'web'"
	}
	for name, source := range map[string]string{
		"too many":  conditional("e", validating, many...),
		"no list":   strings.Replace(conditional("e", validating), "matchConditions:\n", "matchConditions: {a: b}\n", 1),
		"no text":   conditional("e", validating, "object.metadata.name == 'web'") + "  - {name: d, expression: 1}\n",
		"no bool":   conditional("e", validating, "object.metadata.name == 'web'", "object.kind"),
		"bad":       conditional("e", validating, "object.metadata.name == 'web'", "object.kind = 'Service'"),
		"unbound":   conditional("e", validating, "object.metadata.name == 'web'", "variables.x == 'y'"),
		"no object": conditional("e", validating, "object.metadata.name == 'web'") + "  - a\n",
	} {
		if found := exempted(t, town, source); found.Known || found.Count != 0 {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestExemptedByConditionsIsBounded(t *testing.T) {
	var objects []string
	for i := range 3000 {
		objects = append(objects, object(fmt.Sprintf("v1/ConfigMap team-a/c-%04d", i)))
	}
	config := having(objects...)
	found := exempted(t, config, conditional("e", validating, "object.kind.startsWith('Config')"))
	if found.Count != 3000 || len(found.Resources) != shape.MaxExempted || found.Cut {
		t.Errorf("%d of %d, cut: %v", len(found.Resources), found.Count, found.Cut)
	}
	costly := loops(3, "a > 9")
	found = exempted(t, config, conditional("e", validating, costly))
	if !found.Cut || found.Count != 0 {
		t.Errorf("%d, cut: %v", found.Count, found.Cut)
	}
	// There may be some, so the check does not report that there are none.
	checker, err := shape.New(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range checker.Check(documents(conditional("e", validating, costly))[0], now) {
		if f.Reason == "exempts-nothing" {
			t.Error(f)
		}
	}
	// With an index, the same is within the limits.
	if diff := cmp.Diff("ConfigMap team-a/c-0007", short(exempted(t, config, conditional("e", validating, "object.metadata.name == 'c-0007' && !"+costly)).Resources)); diff != "" {
		t.Error(diff)
	}
}

// loops returns nested loops of ten turns that search for a value for which the condition is true.
func loops(within int, condition string) string {
	for i := range within {
		condition = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].exists(" + string(rune('a'+i)) + ", " + condition + ")"
	}
	return condition
}
