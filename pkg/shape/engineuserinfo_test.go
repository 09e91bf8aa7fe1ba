package shape_test

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
