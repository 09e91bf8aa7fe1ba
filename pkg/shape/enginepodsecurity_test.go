package shape_test

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
