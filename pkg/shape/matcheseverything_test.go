package shape_test

const legacyMatch = `  match:
    any:
    - resources:
        kinds: [Deployment]
        names: [web]
        namespaces: [team-a]
`

var (
	everyFilter = []string{"15 matches-everything spec.match.any[0]"}
	emptyFilter = append(everyFilter[:1:1], "15 reaches-guard spec.match.any[0]")
	matchCases  = []change{
		{name: "empty match", of: legacy, old: legacyMatch, new: "  match: {}\n", want: []string{"13 matches-everything spec.match"}},
		{name: "no match", of: legacy, old: legacyMatch, new: "", want: []string{"9 missing-field spec.match"}},
		{name: "no filter", of: legacy, old: legacyMatch, new: "  match: {any: []}\n", want: []string{"13 matches-everything spec.match"}},
		{name: "empty filter", of: legacy, old: legacyMatch, new: "  match:\n    any:\n    - {}\n", want: emptyFilter},
		{name: "empty resources", of: legacy, old: legacyMatch, new: "  match:\n    any:\n    - resources: {}\n", want: emptyFilter},
		{name: "an empty filter behind a narrow one", of: legacy, old: legacyMatch, new: legacyMatch + "    - {}\n", want: []string{"19 matches-everything spec.match.any[1]", "19 reaches-guard spec.match.any[1]"}},
		{name: "only users", of: legacy, old: legacyMatch, new: "  match:\n    any:\n    - clusterRoles: [cluster-admin]\n", want: []string{"15 background-user-info spec.match.any[0].clusterRoles", "15 open-match spec.match.any[0]", "15 reaches-guard spec.match.any[0]"}},
		{name: "only kinds", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "", want: everyFilter},
		{name: "no kinds", of: legacy, old: "        kinds: [Deployment]\n", new: "", want: []string{"15 missing-kinds spec.match.any[0]"}},
		{name: "empty kinds", of: legacy, old: "[Deployment]", new: "[]", want: []string{"15 missing-kinds spec.match.any[0]"}},
		{name: "names are enough", of: legacy, old: "        namespaces: [team-a]\n", new: ""},
		{name: "one name too", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        name: web\n"},
		{name: "namespaces are enough", of: legacy, old: "        names: [web]\n", new: ""},
		{name: "any name", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        names: [web, '*']\n", want: everyFilter},
		{name: "any name, disguised", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        names: ['?*']\n", want: everyFilter},
		{name: "any name, as name", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        name: '**'\n", want: everyFilter},
		{name: "a partial pattern narrows", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        names: [web-*]\n"},
		{name: "annotations do not narrow", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        annotations: {exempt: please}\n", want: everyFilter},
		{name: "operations do not narrow", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        operations: [CREATE]\n", want: append(everyFilter[:1:1], "17 wider-than-written spec.match.any[0].resources.operations (warning)")},
		{name: "empty selector", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        selector: {}\n", want: []string{everyFilter[0], "17 bad-selector spec.match.any[0].resources.selector"}},
		{name: "empty labels", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        selector: {matchLabels: {}}\n", want: []string{everyFilter[0], "17 bad-selector spec.match.any[0].resources.selector"}},
		{name: "any label", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        selector: {matchLabels: {'*': '*'}}\n", want: everyFilter},
		{name: "a label", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        selector: {matchLabels: {app: web}}\n"},
		{name: "labels that are absent", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n",
			new: "        selector: {matchExpressions: [{key: x, operator: DoesNotExist}, {key: why, operator: NotIn, values: [z]}]}\n", want: everyFilter},
		{name: "empty namespace selector", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        namespaceSelector: {}\n", want: []string{everyFilter[0], "17 bad-selector spec.match.any[0].resources.namespaceSelector"}},
		{name: "namespace selector", of: legacy, old: "        names: [web]\n        namespaces: [team-a]\n", new: "        namespaceSelector: {matchExpressions: [{key: team, operator: In, values: [a]}]}\n"},
		{name: "namespace selector on Namespace", of: legacy, old: "        kinds: [Deployment]\n        names: [web]\n        namespaces: [team-a]\n",
			new: "        kinds: [Namespace]\n        namespaceSelector: {matchLabels: {team: a}}\n", want: everyFilter},
		{name: "all, narrowed together", of: legacy, old: legacyMatch, new: "  match:\n    all:\n    - resources: {kinds: [Deployment]}\n    - resources: {names: [web]}\n"},
		{name: "all, not narrowed", of: legacy, old: legacyMatch, new: "  match:\n    all:\n    - resources: {kinds: [Deployment]}\n    - resources: {names: ['*']}\n",
			want: []string{"14 matches-everything spec.match.all"}},
		{name: "all, with an empty filter", of: legacy, old: legacyMatch, new: "  match:\n    all:\n    - resources: {kinds: [Deployment], names: [web]}\n    - {}\n",
			want: []string{"16 matches-everything spec.match.all[1]"}},
	}
)

func init() {
	for _, kind := range []string{"*", "?*", "**", "*/*", "*/*/*", "*/*/*/*", "v1/*", "*/scale", "*.*"} {
		matchCases = append(matchCases, change{name: "kind " + kind, of: legacy, old: "[Deployment]", new: "['" + kind + "']",
			want: []string{"15 matches-everything spec.match.any[0]", "16 reaches-guard spec.match.any[0].resources.kinds[0]"}})
	}
	matchCases = append(matchCases, change{name: "any kind of a group", of: legacy, old: "[Deployment]", new: "['apps/v1/*']", want: everyFilter})
	for _, kind := range []string{"apps/v1/Deployment", "v1/Pod", "Pod/exec", "apps/*/Deployment", "*/Deployment", "Deploy*", "Deployment.scale"} {
		matchCases = append(matchCases, change{name: "kind " + kind, of: legacy, old: "[Deployment]", new: "['" + kind + "']"})
	}
}
