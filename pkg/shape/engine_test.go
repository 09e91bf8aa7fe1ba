package shape_test

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

// withUser adds user information to the only filter of legacy, line 19.
func withUser(what string) (old, new string) {
	return legacyMatch, legacyMatch + "      " + what + "\n  background: false\n"
}

var userInfoCases = func() []change {
	found := func(where string) []string { return []string{"19 background-user-info spec.match.any[0]." + where} }
	cases := []change{
		{name: "clusterRoles in the background", of: legacy, old: legacyMatch, new: legacyMatch + "      clusterRoles: [admin]\n  background: true\n", want: found("clusterRoles")},
		{name: "background not said", of: legacy, old: legacyMatch, new: legacyMatch + "      roles: ['team-a:admin']\n", want: found("roles")},
		{name: "subjects in the background", of: legacy, old: legacyMatch, new: legacyMatch + "      subjects: [{kind: User, name: alice}]\n", want: found("subjects")},
		{name: "empty lists", of: legacy, old: legacyMatch, new: legacyMatch + "      subjects: []\n"},
	}
	for _, c := range []struct{ name, what, want string }{
		{"well formed", "roles: ['team-a:admin']", ""},
		{"subjects", "subjects: [{kind: User, name: alice}, {kind: Group, name: ops}, {kind: ServiceAccount, name: ci, namespace: team-a}]", ""},
		{"role without a namespace", "roles: [admin]", "roles[0]"},
		{"role with too much", "roles: ['a:b:c']", "roles[0]"},
		{"unknown subject", "subjects: [{kind: Team, name: ops}]", "subjects[0].kind"},
		{"nameless subject", "subjects: [{kind: User, name: ''}]", "subjects[0].name"},
		{"homeless ServiceAccount", "subjects: [{kind: ServiceAccount, name: ci}]", "subjects[0].namespace"},
	} {
		one := change{name: c.name, of: legacy}
		one.old, one.new = withUser(c.what)
		if c.want != "" {
			one.want = []string{"19 bad-user-info spec.match.any[0]." + c.want}
		}
		cases = append(cases, one)
	}
	return cases
}()

var selectorCases = func() []change {
	var cases []change
	for _, c := range []struct{ name, selector, want string }{
		{"labels", "{matchLabels: {app: web, example.com/tier: ''}}", ""},
		{"pattern", "{matchLabels: {'app.*': 'web-?'}}", ""},
		{"expressions", "{matchExpressions: [{key: app, operator: In, values: [web]}, {key: old, operator: DoesNotExist}]}", ""},
		{"no labels", "{}", " "},
		{"empty labels", "{matchLabels: {}, matchExpressions: []}", " "},
		{"bad key", "{matchLabels: {'-app': web}}", ".matchLabels.-app"},
		{"bad value", "{matchLabels: {app: 'a web'}}", ".matchLabels.app"},
		{"bad key of an expression", "{matchExpressions: [{key: 'a/b/c', operator: Exists}]}", ".matchExpressions[0].key"},
		{"unknown operator", "{matchExpressions: [{key: app, operator: Equals, values: [web]}]}", ".matchExpressions[0].operator"},
		{"nothing to compare with", "{matchExpressions: [{key: app, operator: In}]}", ".matchExpressions[0]"},
		{"values for nothing", "{matchExpressions: [{key: app, operator: Exists, values: [web]}]}", ".matchExpressions[0].values"},
		{"bad value of an expression", "{matchExpressions: [{key: app, operator: NotIn, values: ['a web']}]}", ".matchExpressions[0].values[0]"},
	} {
		for _, field := range []string{"selector", "namespaceSelector"} {
			one := change{name: c.name + " in " + field, of: legacy, old: "[web]\n", new: "[web]\n        " + field + ": " + c.selector + "\n"}
			switch c.want {
			case "":
			case " ":
				one.want = []string{"18 bad-selector spec.match.any[0].resources." + field}
			default:
				one.want = []string{"18 bad-selector spec.match.any[0].resources." + field + c.want}
			}
			cases = append(cases, one)
		}
	}
	return cases
}()

var podSecurityCases = func() []change {
	var cases []change
	for _, c := range []struct{ name, entry, want string }{
		{"container control", "{controlName: Capabilities, images: ['example.com/web:*']}", ""},
		{"container control with values", "{controlName: Capabilities, images: ['example.com/*'], restrictedField: 'spec.containers[*].securityContext.capabilities.add', values: [NET_ADMIN]}", ""},
		{"Pod control", "{controlName: Host Namespaces}", ""},
		{"control over both", "{controlName: Seccomp}", ""},
		{"control over both, with images", "{controlName: Seccomp, images: ['example.com/web:*']}", ""},
		{"container control without images", "{controlName: Privileged Containers}", " "},
		{"container control with empty images", "{controlName: /proc Mount Type, images: []}", " "},
		{"Pod control with images", "{controlName: Sysctls, images: [a]}", ".images"},
		{"field without values", "{controlName: Seccomp, restrictedField: spec.securityContext.seccompProfile.type}", ".restrictedField"},
		{"field with empty values", "{controlName: Seccomp, restrictedField: spec.securityContext.seccompProfile.type, values: []}", ".restrictedField"},
		{"values without a field", "{controlName: Seccomp, values: [Unconfined]}", ".values"},
		{"values for an empty field", "{controlName: Seccomp, restrictedField: '', values: [Unconfined]}", ".values"},
	} {
		one := change{name: c.name, of: legacy, old: "spec:\n", new: "spec:\n  podSecurity: [" + c.entry + "]\n"}
		switch c.want {
		case "":
		case " ":
			one.want = []string{"10 bad-pod-security spec.podSecurity[0]"}
		default:
			one.want = []string{"10 bad-pod-security spec.podSecurity[0]" + c.want}
		}
		cases = append(cases, one)
	}
	return cases
}()
