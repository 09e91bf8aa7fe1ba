//go:build e2e

package e2e

import "strings"

// expressions are those that Kyverno's webhook compiles, one condition each.
var expressions = []string{
	"object.metadata.name ==", "'web'", "1", "unbound.name == 'web'", "object.metadata.name.endsWithTypo('web')", "   ", "object.metadata.name == 'web' &&", "true == 'true'",
	"object.metadata.name = 'web'", "size(object.metadata.labels)", "[object].map(o, o.metadata.name)", "variables.team == 'a'", "exceptions.allowedValues.size() > 0",
	"true", "request.operation == 'CREATE'", "namespaceObject.metadata.name == 'team-a'", "oldObject == null", "has(object.spec.replicas) && object.spec.replicas < 3",
	"object.spec.containers.all(c, c.image.startsWith('registry.example.com/'))", "object.metadata.?labels.?team.orValue('') == 'a'", "'a' in object.metadata.labels",
	"authorizer.group('').resource('pods').check('get').allowed()", "quantity('1Gi').isGreaterThan(quantity('1Mi'))", "object.metadata.name.matches('^web-[0-9]+$')",
	"request.userInfo.username == 'alice'", "cel.bind(n, object.metadata.name, n == 'web')", "object.metadata.name == \"web\" // the one", "dyn(1) == 1.0", "isURL('https://example.com')",
}

// metadata are changes of what both groups share.
var metadata = []struct{ name, old, new string }{
	{"capital name", "name: web-probes", "name: Web"},
	{"name with an underscore", "name: web-probes", "name: web_probes"},
	{"name with dots", "name: web-probes", "name: web.probes.example"},
	{"name with two dots in a row", "name: web-probes", "name: web..probes"},
	{"name that ends in a dash", "name: web-probes", "name: web-"},
	{"longest name", "name: web-probes", "name: " + strings.Repeat("a", 253)},
	{"longer name", "name: web-probes", "name: " + strings.Repeat("a", 254)},
	{"name with a slash", "name: web-probes", "name: a/b"},
	{"no namespace", "  namespace: team-a\n", ""},
	{"capital namespace", "namespace: team-a", "namespace: Team"},
	{"namespace with a dot", "namespace: team-a", "namespace: team.a"},
	{"longest namespace", "namespace: team-a", "namespace: " + strings.Repeat("a", 63)},
	{"longer namespace", "namespace: team-a", "namespace: " + strings.Repeat("a", 64)},
	{"label with a bad value", "labels: {app: web}", "labels: {app: a b}"},
	{"label with an empty value", "labels: {app: web}", "labels: {app: ''}"},
	{"label with a long value", "labels: {app: web}", "labels: {app: " + strings.Repeat("a", 64) + "}"},
	{"label with a bad key", "labels: {app: web}", "labels: {a b: web}"},
	{"label with two slashes", "labels: {app: web}", "labels: {a/b/c: web}"},
	{"label with a capital prefix", "labels: {app: web}", "labels: {Example.com/a: web}"},
	{"label with an empty prefix", "labels: {app: web}", "labels: {/a: web}"},
	{"label with a long key", "labels: {app: web}", "labels: {" + strings.Repeat("a", 64) + ": web}"},
	{"label that is a number", "labels: {app: web}", "labels: {app: 1}"},
	{"no labels", "labels: {app: web}", "labels: {}"},
	{"annotation with a capital prefix", "annotations: {", "annotations: {Example.com/a: b, "},
	{"annotation with a bad key", "annotations: {", "annotations: {a b: c, "},
	{"annotation that is true", "annotations: {", "annotations: {a: true, "},
	{"annotations up to the limit", "annotations: {", "annotations: {a: " + strings.Repeat("a", 256<<10-200) + ", "},
	{"annotations beyond the limit", "annotations: {", "annotations: {a: " + strings.Repeat("a", 256<<10) + ", "},
	{"finalizer", "  labels:", "  finalizers: [example.com/stay]\n  labels:"},
	{"finalizer without a domain", "  labels:", "  finalizers: [stay]\n  labels:"},
	{"owner", "  labels:", "  ownerReferences: [{apiVersion: v1, kind: Pod, name: a, uid: b}]\n  labels:"},
	{"generateName", "  labels:", "  generateName: web-\n  labels:"},
	{"uid", "  labels:", "  uid: 00000000-0000-0000-0000-000000000000\n  labels:"},
	{"resourceVersion", "  labels:", "  resourceVersion: '1'\n  labels:"},
	{"creationTimestamp that is null", "  labels:", "  creationTimestamp: null\n  labels:"},
	{"creationTimestamp", "  labels:", "  creationTimestamp: '2026-01-01T00:00:00Z'\n  labels:"},
	{"managedFields", "  labels:", "  managedFields: []\n  labels:"},
	{"clusterName", "  labels:", "  clusterName: a\n  labels:"},
	{"status", "spec:\n", "status: {}\nspec:\n"},
	{"a key twice", "  namespace: team-a\n", "  namespace: team-a\n  namespace: team-a\n"},
	{"no spec", "spec:\n", "nospec:\n"},
	{"a version that never was", "kyverno.io/v", "kyverno.io/v9"},
	{"another kind", "kind: PolicyException\n", "kind: PolicyExceptionList\n"},
}
