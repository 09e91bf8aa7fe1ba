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
	"the request is from":        "sender",
	"without a namespace":        "namespace",
	"namespaces which are in no": "labels",
	"an error for no other":      "left-out",
	"no controller makes more":   "made",
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
	checker := must.Get(shape.New(config))(t)
	d := must.Get(exception.Parse([]byte(source), "file.yaml"))(t)
	return checker.Exempted(d)
}

// untold is the answer for conditions that are not plain.
const untold = "cannot tell"

const validating = "{name: p, kind: ValidatingPolicy}"

// exemptingCase has conditions, the resources in town for which they are true, and the assumptions for that.
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
	{"object.kind == 'Service' || object.kind == 'StatefulSet' && object.metadata.name == 'db'", "Service team-a/web, StatefulSet team-b/db", ""},
	{"object.kind == 'Service' || object.metadata.name == 'db'", "Service team-a/web, StatefulSet team-b/db", ""},
	{"", townsfolk, ""},

	// Labels.
	{"object.metadata.labels.app == 'web'", "Deployment team-a/web, Deployment team-b/web", ""},
	{"has(object.metadata.labels) && 'app' in object.metadata.labels && object.metadata.labels['app'] == 'web'", "Deployment team-a/web, Deployment team-b/web", ""},

	// The namespace: the CronJob does not state one, and the ClusterRole has none.
	{"object.metadata.namespace == 'team-b'", "CronJob nightly, Deployment team-b/web, Namespace team-b/odd, StatefulSet team-b/db", "namespace"},
	{"object.kind == 'CronJob' && object.metadata.namespace.startsWith('team-')", "CronJob nightly", "namespace"},

	// The user.
	{"request.userInfo.username == 'alice' && object.kind == 'Service'", "Service team-a/web", "sender"},

	{"object != null && object.kind == 'Service'", "Service team-a/web", ""},

	// Other forms.
	{"[request.operation == 'DELETE' ? oldObject : object].exists(it, it.kind == 'StatefulSet' && it.metadata.name == 'db')", "StatefulSet team-b/db", ""},
	{"object != null && has(object.metadata.labels) && object.metadata.labels.app == 'web' || object.kind == 'Service' && 'app' in object.metadata.labels", "Deployment team-a/web, Deployment team-b/web", ""},
	{"has(object.metadata.labels) && object.kind == 'Service'", untold, ""},
	{"object.kind == 'Deployment' && 'app' in object.metadata.labels", "Deployment team-a/web, Deployment team-b/web", ""},
	{"object.kind == 'StatefulSet' && 'app' in object.metadata.labels", "", ""},
	{"object.apiVersion == 'apps/v1' && object.kind in ['Deployment', 'StatefulSet', 'Service'] && object.metadata.name.startsWith('d')", "StatefulSet team-b/db", ""},
	{"request.namespace == 'team-a' && object.kind in ['CronJob', 'Service', 'StatefulSet']", "CronJob nightly, Service team-a/web", "namespace"},
	{"request.namespace == 'team-a'", untold, ""},
}

// otherConditions are not plain: files cannot tell for which resources they are true.
var otherConditions = []string{
	"object.kind in ['Service', 'StatefulSet'] && request.kind.kind in ['StatefulSet', 'CronJob']",
	"object.kind == 'Service' && object.kind == 'StatefulSet'",
	"object.kind in []",
	"!(object.kind in ['Deployment', 'Namespace', 'Service', 'Gateway', 'CronJob', 'ClusterRole'])",
	"object.kind == 'Deployment' && object.spec.template.spec.containers.all(c, c.image.startsWith('registry.example/'))",
	"object.?spec.replicas.orValue(1) == 2",
	"[object].exists(o, o.metadata.name == 'db')",
	"[object, dyn({'kind': 'Service'})].exists(o, o.kind == 'Service')",
	"[object.kind == 'Service' ? object : dyn({'kind': 'None'})].exists(o, o.kind != 'None')",
	"[object.kind == 'Service' ? object : dyn({'kind': 'StatefulSet'})].exists(o, o.kind == 'StatefulSet') && object.kind in ['CronJob', 'Service']",
	"request.name == 'db' && request.operation in ['CREATE', 'UPDATE']",
	"request.kind.group == 'apps' && request.kind.version == 'v1' && request.kind.kind == 'StatefulSet'",
	"request.resource.resource in ['statefulsets', 'clusterroles']",
	"request.object.metadata.name == 'db' && !has(request.subResource)",
	"has(object.metadata.labels) && !('app' in object.metadata.labels)",
	"!has(object.metadata.namespace)",
	"request.namespace == 'team-a' && object.kind in ['CronJob', 'Namespace', 'Service', 'StatefulSet']",
	"namespaceObject.metadata.name == 'team-b' && object.metadata.name == 'web'",
	"namespaceObject.metadata.labels.tier == 'gold' && object.metadata.name == 'web'",
	"namespaceObject.metadata.labels['tier'] == 'silver' && object.metadata.name == 'web'",
	"'tier' in namespaceObject.metadata.labels && object.kind == 'StatefulSet'",
	"!('tier' in namespaceObject.metadata.labels) && object.kind in ['StatefulSet', 'Service']",
	"has(namespaceObject.metadata.labels.tier) && object.kind == 'CronJob'",
	"namespaceObject.metadata.labels.exists(k, k == 'x') && object.kind in ['StatefulSet', 'Service']",
	"namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == 'team-a' && object.kind in ['StatefulSet', 'Service']",
	"has(namespaceObject.metadata.annotations) && object.kind in ['StatefulSet', 'Service']",
	"namespaceObject == null && object.kind != 'CronJob'",
	"namespaceObject != null && object.kind == 'Namespace'",
	"object.metadata.labels.app == 'web' && 'ops' in request.userInfo.groups",
	"'ops' in request.userInfo.groups && object.metadata.labels.app == 'web'",
	"request.userInfo.groups.exists(g, g == 'ops') || object.kind == 'Service'",
	"request.userInfo.username == 'alice' && false",
	"(object.kind == 'Service' ? request.userInfo.username : 'alice') == 'bob'",
	"request.operation == 'CREATE' && object.metadata.name == 'db'",
	"request.operation == 'DELETE' && oldObject.metadata.name == 'db'",
	"request.operation == 'DELETE' && object.metadata.name == 'db'",
	"oldObject.metadata.name == 'db'",
	"oldObject == null && object.kind == 'StatefulSet'",
	"request.oldObject == null && object.kind == 'StatefulSet'",
	"!has(oldObject.metadata) && object.kind == 'StatefulSet'",
	"!has(object.metadata) && oldObject.kind == 'StatefulSet'",
	"!has(object.metadata)",
	"[request.operation == 'DELETE' ? oldObject : object].exists(o, o.metadata.name == 'db')",
	"request.operation == 'CONNECT'",
	"has(request.subResource)",
	"object.metadata.labels == {'app': 'web'}",
	"object.spec.replicas == 2",
	"object.spec.replicas == 3 || object.kind == 'Service'",
	"object.spec.x == 'y' ; object.kind == 'Service'",
	"object.kind == 'Service' ; request.userInfo.username == object.spec.x",
	"object.kind || true",
	"object.kind || object.kind == 'Service'",
}

// ofServices are not plain either. A condition about the kind is beside each of them.
var ofServices = []string{
	"!(request.userInfo.username == 'alice')",
	"!(request.userInfo.username == 'alice' && object.spec.replicas == 3)",
	"!(request.userInfo.username == 'alice' || object.spec.replicas == 3)",
	"object[request.userInfo.username] == 'db'", "has(object.metadata.uid)",
	"object.metadata.creationTimestamp < timestamp('2027-01-01T00:00:00Z')", "object.status.loadBalancer == {}",
	"request.dryRun", "namespaceObject.status.phase == 'Active'", "object.metadata.size() == 2",
	"object.metadata.map(k, 1) == [1, 1, 1, 1]", "!object.metadata.exists(k, v, k == 'x')",
	"{'name': 'web'} == object.metadata", "!(object.metadata == {'name': 'web'})",
	"'%s'.format([object.metadata]) == 'x'", "quantity('1Gi').isGreaterThan(quantity('1Mi'))",
	"lists.range(100000).size() == 0",
}

// TestExemptedByConditions: plain conditions list the resources for which they are true. For others,
// the answer is that files cannot tell.
func TestExemptedByConditions(t *testing.T) {
	for _, tc := range exemptingCases {
		found := exempted(t, town, conditional("e", validating, tc.list()...))
		got := short(found.Resources)
		if !found.Known {
			got = untold
		}
		expect.That(t, got == tc.want && !found.Cut && found.Count == len(found.Resources),
			"%q: %q (%+v), want %q", tc.conditions, got, found, tc.want)
		expect.Is(t, fmt.Sprintf("%q: assumes", tc.conditions), tc.assumed, assumedIn(found))
	}
	others := slices.Clone(otherConditions)
	for _, condition := range ofServices {
		others = append(others, condition+" && object.kind == 'Service'")
	}
	for _, conditions := range others {
		found := exempted(t, town, conditional("e", validating, strings.Split(conditions, " ; ")...))
		expect.That(t, !found.Known && found.Count <= 0, "%q: %+v", conditions, found)
	}
}

// TestExemptedDespiteErrors: policies that mutate, generate or delete skip a resource for which a
// condition is an error. A DeletingPolicy has no request.
func TestExemptedDespiteErrors(t *testing.T) {
	for kinds, want := range map[string]string{
		"ValidatingPolicy":                  "Deployment team-a/web, Deployment team-b/web ",
		"NamespacedImageValidatingPolicy":   "Deployment team-a/web, Deployment team-b/web ",
		"MutatingPolicy":                    "Deployment team-a/web, Deployment team-b/web left-out",
		"NamespacedGeneratingPolicy":        "Deployment team-a/web, Deployment team-b/web left-out",
		"DeletingPolicy":                    "Deployment team-a/web, Deployment team-b/web left-out",
		"ValidatingPolicy GeneratingPolicy": "Deployment team-a/web, Deployment team-b/web left-out",
	} {
		var refs []string
		for _, kind := range strings.Fields(kinds) {
			refs = append(refs, "{name: p, kind: "+kind+"}")
		}
		source := conditional("e", strings.Join(refs, ", "), "object.metadata.labels.app == 'web'")
		found := exempted(t, town, source)
		expect.Is(t, kinds, want, short(found.Resources)+" "+assumedIn(found))
		checker := must.Get(shape.New(having()))(t)
		nothing := slices.ContainsFunc(checker.Check(documents(source)[0], now), func(f shape.Finding) bool { return f.Reason == "exempts-nothing" })
		expect.That(t, nothing != strings.Contains(want, "left-out"), "%s: exempts-nothing: %v", kinds, nothing)
		asked := exempted(t, town, conditional("e", strings.Join(refs, ", "), "request.name == 'db'"))
		expect.That(t, asked.Known != (kinds == "DeletingPolicy"), "%s: %+v", kinds, asked)
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
		found := exempted(t, town, source)
		expect.That(t, !found.Known && found.Count == 0, "%s: %+v", name, found)
	}
}
