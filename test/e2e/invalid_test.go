//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/must"
)

// written are changes of the two whole exceptions by an author who knows the fields. They have a meaning and are wrong,
// or look wrong and are right. Both sides judge them in every served version.
var written = map[string][]struct{ name, old, new string }{
	wholeLegacy: {
		{"name and names", "names: [web]", "names: [web]\n        name: web"},
		{"name alone", "names: [web]", "name: web"},
		{"any and all", "  conditions:", "    all:\n    - resources: {kinds: [Pod]}\n  conditions:"},
		{"any and an empty all", "  conditions:", "    all: []\n  conditions:"},
		{"all alone", "    any:\n    - resources", "    all:\n    - resources"},
		{"nothing matched", wholeMatch, "  match: {}\n"},
		{"conditions of both sorts", "  podSecurity:", "    all:\n    - {key: a, operator: AnyIn, value: [b]}\n  podSecurity:"},
		{"unknown operator", "operator: Equals", "operator: Like"},
		{"operator of old", "operator: Equals", "operator: In"},
		{"no background", "  background: false\n", ""},
		{"background", "background: false", "background: true"},
		{"background without people", people, ""},
		{"background said, without people", "background: false\n" + afterBackground, "background: true\n" + strings.Replace(afterBackground, people, "", 1)},
		{"background as text", "background: false", "background: 'false'"},
		{"role without a namespace", `"team-a:deployer"`, "deployer"},
		{"role with two colons", `"team-a:deployer"`, `"a:b:c"`},
		{"role of nobody", `"team-a:deployer"`, `":"`},
		{"subject of another kind", "kind: User", "kind: Team"},
		{"ServiceAccount in a namespace", "kind: User", "kind: ServiceAccount"},
		{"ServiceAccount without a namespace", "kind: User, name: alice, apiGroup: rbac.authorization.k8s.io, namespace: x", "kind: ServiceAccount, name: alice"},
		{"subject without a name", "name: alice", "name: ''"},
		{"selector with a pattern", "{matchLabels: {app: web}}", "{matchLabels: {app: 'web-*'}}"},
		{"selector with a pattern and nonsense", "{matchLabels: {app: web}}", "{matchLabels: {app: 'web-*'}, matchExpressions: [{key: app, operator: Like}]}"},
		{"selector with an empty value", "{matchLabels: {app: web}}", "{matchLabels: {app: ''}}"},
		{"selector with a bad value", "{matchLabels: {app: web}}", "{matchLabels: {app: 'a b'}}"},
		{"selector with a bad key", "{matchLabels: {app: web}}", "{matchLabels: {'a b': web}}"},
		{"selector with a prefixed key", "{matchLabels: {app: web}}", "{matchLabels: {example.com/app: web}}"},
		{"selector with a capital prefix", "{matchLabels: {app: web}}", "{matchLabels: {Example.com/app: web}}"},
		{"selector that asks for nothing", "{matchLabels: {app: web}}", "{}"},
		{"selector of empty lists", "{matchLabels: {app: web}}", "{matchLabels: {}, matchExpressions: []}"},
		{"selector with In and no values", "{matchLabels: {app: web}}", "{matchExpressions: [{key: app, operator: In}]}"},
		{"selector with In and empty values", "{matchLabels: {app: web}}", "{matchExpressions: [{key: app, operator: In, values: []}]}"},
		{"selector with NotIn", "{matchLabels: {app: web}}", "{matchExpressions: [{key: app, operator: NotIn, values: [web, '']}]}"},
		{"selector with Exists", "{matchLabels: {app: web}}", "{matchExpressions: [{key: app, operator: Exists}]}"},
		{"selector with Exists and empty values", "{matchLabels: {app: web}}", "{matchExpressions: [{key: app, operator: Exists, values: []}]}"},
		{"selector with Exists and values", "{matchLabels: {app: web}}", "{matchExpressions: [{key: app, operator: Exists, values: [a]}]}"},
		{"selector with DoesNotExist", "{matchLabels: {app: web}}", "{matchExpressions: [{key: app, operator: DoesNotExist}]}"},
		{"selector with a small operator", "{matchLabels: {app: web}}", "{matchExpressions: [{key: app, operator: exists}]}"},
		{"namespace selector that asks for nothing", namespaceSelector, "namespaceSelector: {}\n"},
		{"namespace selector with an unknown operator", "operator: In,", "operator: Like,"},
		{"unknown control", "controlName: Capabilities", "controlName: Host Names"},
		{"container control without images", "    images: [registry.example.com/web]\n", ""},
		{"container control with empty images", "images: [registry.example.com/web]", "images: []"},
		{"Pod control with images", "controlName: Capabilities", "controlName: Host Namespaces"},
		{"Pod control without images", "controlName: Capabilities\n    images: [registry.example.com/web]", "controlName: Sysctls"},
		{"control over both, with images", "controlName: Capabilities", "controlName: SELinux"},
		{"control over both, without images", "controlName: Capabilities\n    images: [registry.example.com/web]", "controlName: Running as Non-root user"},
		{"field without values", "    values: [NET_ADMIN]\n", ""},
		{"values without a field", "    restrictedField: spec.containers[*].securityContext.capabilities.add\n", ""},
		{"unknown field of a control", "spec.containers[*].securityContext.capabilities.add", "spec.nothing"},
		{"field of another control", "spec.containers[*].securityContext.capabilities.add", "spec.hostNetwork"},
		{"every control", podSecurity, everyControl()},
		{"no rules", "[check, autogen-check]", "[]"},
		{"every rule", "[check, autogen-check]", "['*']"},
		{"empty rule", "[check, autogen-check]", "['']"},
		{"no policies", "  exceptions:\n  - policyName: require-probes\n    ruleNames: [check, autogen-check]\n", "  exceptions: []\n"},
		{"policy in a namespace", "policyName: require-probes", "policyName: team-a/require-probes"},
		{"operation in small letters", "[CREATE]", "[create]"},
		{"every operation", "[CREATE]", "[CREATE, UPDATE, DELETE, CONNECT]"},
		{"fields of the other group", "  background: false\n", "  background: false\n  reportResult: pass\n"},
	},
	wholePolicies: {
		{"no reference", "  policyRefs:\n  - name: require-probes\n    kind: ValidatingPolicy\n", "  policyRefs: []\n"},
		{"reference without a name", "  - name: require-probes\n    kind: ValidatingPolicy\n", "  - kind: ValidatingPolicy\n"},
		{"reference without a kind", "    kind: ValidatingPolicy\n", ""},
		{"unknown kind", "kind: ValidatingPolicy", "kind: Whatever"},
		{"old kind", "kind: ValidatingPolicy", "kind: ClusterPolicy"},
		{"kind in small letters", "kind: ValidatingPolicy", "kind: validatingpolicy"},
		{"namespaced kind", "kind: ValidatingPolicy", "kind: NamespacedDeletingPolicy"},
		{"one reference twice", "  matchConditions:", "  - {name: require-probes, kind: ValidatingPolicy}\n  matchConditions:"},
		{"rule names", "kind: ValidatingPolicy", "kind: ValidatingPolicy\n    ruleNames: [a]"},
		{"no conditions", "  matchConditions:\n  - name: web\n    expression: object.metadata.name == 'web'\n", ""},
		{"condition without a name", "- name: web\n    expression", "- expression"},
		{"condition without an expression", "    expression: object.metadata.name == 'web'\n", ""},
		{"condition with a bad name", "- name: web\n", "- name: the web\n"},
		{"condition with a prefixed name", "- name: web\n", "- name: example.com/web\n"},
		{"condition with a capital name", "- name: web\n", "- name: Web_1.2\n"},
		{"condition with a long name", "- name: web\n", "- name: " + strings.Repeat("a", 64) + "\n"},
		{"two conditions of one name", "  images:", "  - {name: web, expression: 'true'}\n  images:"},
		{"64 conditions", "  images:", manyConditions(63) + "  images:"},
		{"65 conditions", "  images:", manyConditions(64) + "  images:"},
		{"unknown result", "reportResult: pass", "reportResult: fail"},
		{"result in capitals", "reportResult: pass", "reportResult: Pass"},
		{"unknown mode", "evaluationMode: Kubernetes", "evaluationMode: Whatever"},
		{"time with an offset", "2026-12-31T17:00:00Z", "2026-12-31T17:00:00+01:00"},
		{"time with a fraction", "2026-12-31T17:00:00Z", "2026-12-31T17:00:00.123456Z"},
		{"time without a zone", "2026-12-31T17:00:00Z", "2026-12-31T17:00:00"},
		{"time with a space", "2026-12-31T17:00:00Z", "2026-12-31 17:00:00Z"},
		{"time in small letters", "2026-12-31T17:00:00Z", "2026-12-31t17:00:00z"},
		{"time with a short offset", "2026-12-31T17:00:00Z", "2026-12-31T17:00:00+0100"},
		{"time with a comma", "2026-12-31T17:00:00Z", "2026-12-31T17:00:00,5Z"},
		{"leap second", "2026-12-31T17:00:00Z", "2026-12-31T23:59:60Z"},
		{"a date", "2026-12-31T17:00:00Z", "2026-12-31"},
		{"a date that is none", "2026-12-31T17:00:00Z", "2026-02-30T17:00:00Z"},
		{"a far year", "2026-12-31T17:00:00Z", "9999-12-31T23:59:59Z"},
		{"a time long ago", "2026-12-31T17:00:00Z", "0001-01-01T00:00:00Z"},
		{"property that is a number", "ticket: T-1", "ticket: 7"},
		{"fields of the other group", "  reportResult: pass\n", "  background: true\n"},
		{"fields of the next release", "  reportResult: pass\n", "  validations: [{expression: 'true'}]\n"},
	},
}

// writtenSamples returns all of them.
func writtenSamples(t *testing.T) []sample {
	t.Helper()
	var all []sample
	for _, s := range served {
		whole := fmt.Sprintf(s.whole, s.version)
		add := func(name, old, new string) {
			must.That(t, strings.Contains(whole, old), "%s: there is no %q to replace", name, old)
			all = append(all, sample{fmt.Sprintf("written/%s %s", s.version, name), []byte(strings.Replace(whole, old, new, 1))})
		}
		for _, c := range written[s.whole] {
			add(c.name, c.old, c.new)
		}
		for _, c := range metadata {
			add(c.name, c.old, c.new)
		}
		if s.whole == wholePolicies {
			const old = "expression: object.metadata.name == 'web'"
			for _, e := range expressions {
				add("expression "+e, old, fmt.Sprintf("expression: %q", e))
			}
			for what, nest := range nested {
				for _, n := range nestings {
					add(fmt.Sprintf("expression with %d %s", n, what), old, fmt.Sprintf("expression: %q", nest(n)))
				}
			}
			for _, n := range lengths {
				add(fmt.Sprintf("expression of %d characters", n), old, fmt.Sprintf("expression: %q", fmt.Sprintf("%-*s", n, "object.metadata.name == 'web'")))
			}
		}
	}
	return all
}

// metadata are changes of the fields that both groups share.
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

// Parts of wholeLegacy.
const (
	people = `      roles: ["team-a:deployer"]
      clusterRoles: [deployer]
      subjects: [{kind: User, name: alice, apiGroup: rbac.authorization.k8s.io, namespace: x}]
`
	namespaceSelector = `namespaceSelector:
          matchExpressions: [{key: team, operator: In, values: [a]}]
`
)

var (
	wholeMatch      = between("  match:", "  conditions:")
	afterBackground = between("  exceptions:", "  conditions:")
	podSecurity     = between("  podSecurity:", "")
)

// between returns the text from one word to another, or to the end.
func between(from, to string) string {
	_, rest, _ := strings.Cut(wholeLegacy, from)
	if to != "" {
		rest, _, _ = strings.Cut(rest, to)
	}
	return from + rest
}

func manyConditions(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "  - {name: c%d, expression: 'true'}\n", i)
	}
	return all.String()
}

// everyControl lists each control of the Pod Security Standards, with the fields that Kyverno's webhook requires.
func everyControl() string {
	all := "  podSecurity:\n"
	for _, control := range []string{"HostProcess", "Host Namespaces", "HostPath Volumes", "AppArmor", "SELinux", "Seccomp", "Sysctls", "Volume Types", "Running as Non-root", "Running as Non-root user"} {
		all += "  - {controlName: " + control + "}\n"
	}
	for _, control := range []string{"Privileged Containers", "Capabilities", "Host Ports", "/proc Mount Type", "Privilege Escalation", "Seccomp"} {
		all += "  - {controlName: " + control + ", images: ['*']}\n"
	}
	return all
}
