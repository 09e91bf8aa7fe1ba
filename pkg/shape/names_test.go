package shape_test

var hiddenCases = []change{
	{name: "Cyrillic letter in a policy", of: legacy, old: "policyName: require-probes", new: "policyName: rеquire-probes", want: []string{"11 hidden-character spec.exceptions[0].policyName"}},
	{name: "zero width in a rule", of: legacy, old: "[check,", new: `["che\u200bck",`, want: []string{"12 hidden-character spec.exceptions[0].ruleNames[0]"}},
	{name: "line break in a kind", of: legacy, old: "[Deployment]", new: `["Deployment\n"]`, want: []string{"16 hidden-character spec.match.any[0].resources.kinds[0]", "16 unknown-kind spec.match.any[0].resources.kinds[0] (warning)"}},
	{name: "letter of another alphabet in a namespace", of: legacy, old: "namespaces: [team-a]", new: "namespaces: [team-а]", want: []string{"18 never-matches spec.match.any[0].resources.namespaces", "18 hidden-character spec.match.any[0].resources.namespaces[0]"}},
	{name: "full width in a name", of: legacy, old: "[web]", new: "[ｗeb]", want: []string{"17 hidden-character spec.match.any[0].resources.names[0]"}},
	{name: "the exception's own name", of: legacy, old: "name: web-probes", new: "name: wеb-probes", want: []string{"4 hidden-character metadata.name", "4 invalid-value metadata.name"}},
	{name: "a policy by CEL", of: policies, old: "name: require-probes", new: `name: "require\u00adprobes"`, want: []string{"8 hidden-character spec.policyRefs[0].name"}},
	{name: "a space is seen", of: legacy, old: "[check,", new: `["check probes",`},
	{name: "prose may be in any language", of: legacy, old: "the vendor's image", new: "Образ поставщика, می\u200cخواهم, 画像"},
	{name: "prose that turns around", of: legacy, old: "the vendor's image", new: "\u202eegami", want: []string{`7 hidden-character metadata.annotations["polex.dev/reason"]`}},
	{name: "an expression that turns around", of: policies, old: "'web'", new: "'web\u2066'", want: []string{"12 hidden-character spec.matchConditions[0].expression"}},
	{name: "a key", of: policies, old: "{reason:", new: "{\"a\u200b\": b, reason:", want: []string{`14 hidden-character spec.properties["a\u200b"]`}},
	{name: "a comment", of: legacy, old: "spec:\n", new: "spec: # \u202e\n", want: []string{"9 hidden-character ."}},
	{name: "a comment above the document", of: legacy, old: "apiVersion", new: "# \u200b\n---\napiVersion", want: []string{"1 hidden-character ."}},
}

var lookAlikeCases = []change{
	{name: "two rules", of: legacy, old: "[check, autogen-check]", new: "[check, Check]", want: []string{"12 look-alike spec.exceptions[0].ruleNames[1]"}},
	{name: "the same rule twice", of: legacy, old: "[check, autogen-check]", new: "[check, check]"},
	{name: "two policies", of: legacy, old: "[check, autogen-check]", new: "[check, autogen-check]\n  - policyName: Require-probes\n    ruleNames: [check]", want: []string{"13 look-alike spec.exceptions[1].policyName"}},
	{name: "rules of two policies", of: legacy, old: "[check, autogen-check]", new: "[check, autogen-check]\n  - policyName: another\n    ruleNames: [Check]"},
	{name: "a kind and a name", of: legacy, old: "names: [web]", new: "names: [deployment]"},
	{name: "a space behind", of: legacy, old: "[check, autogen-check]", new: "['check ']", want: []string{"12 look-alike spec.exceptions[0].ruleNames[0]"}},
	{name: "a space before a policy", of: policies, old: "name: require-probes", new: "name: ' require-probes'", want: []string{"8 look-alike spec.policyRefs[0].name"}},
}
