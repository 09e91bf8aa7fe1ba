package shape_test

import (
	"fmt"
	"strings"
)

var kept = []string{"9 kept-by-kyverno spec.policyRefs[0].kind (warning)"}

var policyKindCases = []change{
	{name: "namespaced", of: policies, old: "kind: ValidatingPolicy", new: "kind: NamespacedValidatingPolicy", want: kept},
	{name: "namespaced, images", of: policies, old: "kind: ValidatingPolicy", new: "kind: NamespacedImageValidatingPolicy", want: kept},
	{name: "namespaced, mutating", of: policies, old: "kind: ValidatingPolicy", new: "kind: NamespacedMutatingPolicy", want: kept},
	{name: "namespaced, generating", of: policies, old: "kind: ValidatingPolicy", new: "kind: NamespacedGeneratingPolicy"},
	{name: "namespaced, deleting", of: policies, old: "kind: ValidatingPolicy", new: "kind: NamespacedDeletingPolicy"},
	{name: "old kind", of: policies, old: "kind: ValidatingPolicy", new: "kind: ClusterPolicy", want: []string{"9 unknown-policy-kind spec.policyRefs[0].kind"}},
	{name: "spelling", of: policies, old: "kind: ValidatingPolicy", new: "kind: validatingpolicy", want: []string{"9 unknown-policy-kind spec.policyRefs[0].kind"}},
	{name: "empty is the schema's", of: policies, old: "kind: ValidatingPolicy", new: "kind: ''", want: []string{"9 empty-value spec.policyRefs[0].kind"}},
}

// fieldCase is a value of one field: want is the path of the fault below the field, "." the field itself, and "" no fault.
type fieldCase struct{ name, value, want string }

// inField makes cases of a finding at a place. The texts have a %s for the value.
func inField(finding, old, text string, fields []fieldCase) (cases []change) {
	for _, f := range fields {
		one := change{name: f.name, of: legacy, old: old, new: fmt.Sprintf(text, f.value)}
		if f.want != "" {
			one.want = []string{finding + strings.TrimSuffix(f.want, ".")}
		}
		cases = append(cases, one)
	}
	return cases
}

const backgroundUser = "19 background-user-info spec.match.any[0]."

var userInfoCases = append([]change{
	{name: "clusterRoles in the background", of: legacy, old: legacyMatch, new: legacyMatch + "      clusterRoles: [admin]\n  background: true\n",
		want: []string{backgroundUser + "clusterRoles"}},
	{name: "background not said", of: legacy, old: legacyMatch, new: legacyMatch + "      roles: ['team-a:admin']\n", want: []string{backgroundUser + "roles"}},
	{name: "subjects in the background", of: legacy, old: legacyMatch, new: legacyMatch + "      subjects: [{kind: User, name: alice}]\n",
		want: []string{backgroundUser + "subjects"}},
	{name: "empty lists", of: legacy, old: legacyMatch, new: legacyMatch + "      subjects: []\n"},
}, inField("19 bad-user-info spec.match.any[0].", legacyMatch, legacyMatch+"      %s\n  background: false\n", []fieldCase{
	{"well formed", "roles: ['team-a:admin']", ""},
	{"subjects", "subjects: [{kind: User, name: alice}, {kind: Group, name: ops}, {kind: ServiceAccount, name: ci, namespace: team-a}]", ""},
	{"role without a namespace", "roles: [admin]", "roles[0]"},
	{"role with too much", "roles: ['a:b:c']", "roles[0]"},
	{"unknown subject", "subjects: [{kind: Team, name: ops}]", "subjects[0].kind"},
	{"nameless subject", "subjects: [{kind: User, name: ''}]", "subjects[0].name"},
	{"homeless ServiceAccount", "subjects: [{kind: ServiceAccount, name: ci}]", "subjects[0].namespace"},
})...)

var selectors = []fieldCase{
	{"labels", "{matchLabels: {app: web, example.com/tier: ''}}", ""},
	{"pattern", "{matchLabels: {'app.*': 'web-?'}}", ""},
	{"expressions", "{matchExpressions: [{key: app, operator: In, values: [web]}, {key: old, operator: DoesNotExist}]}", ""},
	{"no labels", "{}", "."},
	{"empty labels", "{matchLabels: {}, matchExpressions: []}", "."},
	{"bad key", "{matchLabels: {'-app': web}}", ".matchLabels.-app"},
	{"bad value", "{matchLabels: {app: 'a web'}}", ".matchLabels.app"},
	{"bad key of an expression", "{matchExpressions: [{key: 'a/b/c', operator: Exists}]}", ".matchExpressions[0].key"},
	{"unknown operator", "{matchExpressions: [{key: app, operator: Equals, values: [web]}]}", ".matchExpressions[0].operator"},
	{"nothing to compare with", "{matchExpressions: [{key: app, operator: In}]}", ".matchExpressions[0]"},
	{"values for nothing", "{matchExpressions: [{key: app, operator: Exists, values: [web]}]}", ".matchExpressions[0].values"},
	{"bad value of an expression", "{matchExpressions: [{key: app, operator: NotIn, values: ['a web']}]}", ".matchExpressions[0].values[0]"},
}

var selectorCases = append(
	inField("18 bad-selector spec.match.any[0].resources.selector", "[web]\n", "[web]\n        selector: %s\n", selectors),
	inField("18 bad-selector spec.match.any[0].resources.namespaceSelector", "[web]\n", "[web]\n        namespaceSelector: %s\n", selectors)...)

var podSecurityCases = inField("10 bad-pod-security spec.podSecurity[0]", "spec:\n", "spec:\n  podSecurity: [%s]\n", []fieldCase{
	{"container control", "{controlName: Capabilities, images: ['example.com/web:*']}", ""},
	{"container control with values", "{controlName: Capabilities, images: ['example.com/*'], restrictedField: 'spec.containers[*].securityContext.capabilities.add', values: [NET_ADMIN]}", ""},
	{"Pod control", "{controlName: Host Namespaces}", ""},
	{"control over both", "{controlName: Seccomp}", ""},
	{"control over both, with images", "{controlName: Seccomp, images: ['example.com/web:*']}", ""},
	{"container control without images", "{controlName: Privileged Containers}", "."},
	{"container control with empty images", "{controlName: /proc Mount Type, images: []}", "."},
	{"Pod control with images", "{controlName: Sysctls, images: [a]}", ".images"},
	{"field without values", "{controlName: Seccomp, restrictedField: spec.securityContext.seccompProfile.type}", ".restrictedField"},
	{"field with empty values", "{controlName: Seccomp, restrictedField: spec.securityContext.seccompProfile.type, values: []}", ".restrictedField"},
	{"values without a field", "{controlName: Seccomp, values: [Unconfined]}", ".values"},
	{"values for an empty field", "{controlName: Seccomp, restrictedField: '', values: [Unconfined]}", ".values"},
})
