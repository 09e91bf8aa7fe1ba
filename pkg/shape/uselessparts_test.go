package shape_test

var (
	baseline = legacyPolicy("ClusterPolicy", "require-probes", "name: check, "+onPods+", validate: {podSecurity: {level: baseline, version: latest}}", "name: other, "+onPods+", validate: {pattern: {a: b}}")
	controls = legacy + "  podSecurity:\n  - controlName: Capabilities\n    images: [nginx*]\n"
)

var uselessPodSecurityCases = []change{
	{name: "of a podSecurity rule", of: controls, config: knowing(baseline)},
	{name: "of the form for controllers", of: controls, config: knowing(baseline), old: "[check, autogen-check]", new: "[autogen-check]", want: []string{"12 autogen-rules spec.exceptions[0].ruleNames (warning)"}},
	{name: "beside another rule", of: controls, config: knowing(baseline), old: "autogen-check]", new: "autogen-check, other, autogen-other]"},
	{name: "of another rule", of: controls, config: knowing(baseline), old: "[check, autogen-check]", new: "[autogen-other]", want: []string{"12 autogen-rules spec.exceptions[0].ruleNames (warning)", "19 useless-pod-security spec.podSecurity"}},
	{name: "a field that no control checks", of: controls, config: knowing(baseline), old: "[nginx*]", new: "[nginx*]\n    restrictedField: spec.containers[*].securityContext.capability.add\n    values: [SYS_ADMIN]", want: []string{"20 never-matches spec.podSecurity[0]"}},
	{name: "of another policy", of: controls, config: knowing(probes), want: []string{"19 useless-pod-security spec.podSecurity"}},
	{name: "of one that is unknown", of: controls, config: knowing(), want: []string{"11 unknown-policy spec.exceptions[0].policyName"}},
	{name: "without controls", of: legacy, config: knowing(probes)},
}
