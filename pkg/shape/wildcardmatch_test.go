package shape_test

var wildcardMatchCases = []change{
	{name: "any name in a namespace", of: legacy, old: "[web]", new: "[web, '?*']", want: []string{"17 wildcard-match spec.match.any[0].resources.names[1]"}},
	{name: "any name, as name", of: legacy, old: "names: [web]", new: "name: '*'", want: []string{"17 wildcard-match spec.match.any[0].resources.name"}},
	{name: "any namespace", of: legacy, old: "namespaces: [team-a]", new: "namespaces: ['*-system', '*']",
		want: []string{"18 reaches-guard spec.match.any[0].resources.namespaces[0]", "18 reaches-guard spec.match.any[0].resources.namespaces[1]", "18 wildcard-match spec.match.any[0].resources.namespaces[1]"}},
	{name: "empty selector beside names", of: legacy, old: "names: [web]", new: "names: [web]\n        selector: {}", want: []string{"18 bad-selector spec.match.any[0].resources.selector"}},
	{name: "selector that asks for absence", of: legacy, old: "names: [web]", new: "names: [web]\n        namespaceSelector: {matchExpressions: [{key: a, operator: DoesNotExist}]}",
		want: []string{"18 wildcard-match spec.match.any[0].resources.namespaceSelector"}},
	{name: "selector that asks for presence", of: legacy, old: "names: [web]", new: "names: [web]\n        selector: {matchLabels: {app: web}}"},
	{name: "in match.all", of: legacy, old: legacyMatch, new: "  match:\n    all:\n    - resources: {kinds: [Deployment], names: [web]}\n    - resources: {names: ['*']}\n",
		want: []string{"16 wildcard-match spec.match.all[1].resources.names[0]"}},
	{name: "said for the whole filter already", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        names: ['*']\n", want: everyFilter},
}
