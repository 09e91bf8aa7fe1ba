package shape_test

import "github.com/polex-dev/polex/pkg/shape"

// withoutWidth disables the other checks of match conditions.
var withoutWidth = shape.Config{Checks: map[string]shape.Level{shape.ReasonMatchesEverything: shape.LevelOff, shape.ReasonNotProvenNarrow: shape.LevelOff, shape.ReasonMissingKinds: shape.LevelOff}}

func init() {
	for _, expression := range []string{
		"object.metadata.namespace.startsWith('kyv')", "object.metadata.namespace == 'ky' + 'verno'", "object.metadata.namespace.matches('^k.*o$')",
		"object.metadata.namespace.endsWith('-system')", "request.namespace == ['ky', 'verno'].join('')", "namespaceObject.metadata.name == 'polex' + '-system'",
		"object.kind == 'Deployment' && object.metadata.namespace.contains('yverno')", "object.kind == 'Widget' && object.metadata.namespace.contains('yverno')",
		"object.metadata.name == 'web' && object.metadata.namespace.contains('yverno')", "oldObject.metadata.namespace.startsWith('kyv')",
		"request.operation == 'DELETE' && request.namespace.startsWith('kyv')", "request.userInfo.username.startsWith('system:serviceaccount:') && request.namespace.startsWith('kyv')",
		"object.kind == 'Namespace' && object.metadata.name.startsWith('kyv')", "namespaceObject.metadata.labels['kubernetes.io/metadata.name'].startsWith('kyv')",
		"object.metadata.name.startsWith('kyv')", // Namespaces have names
		"size(object.metadata.namespace) == 7 && object.metadata.namespace.startsWith('k')", "object.metadata.namespace in ['ky' + 'verno', 'team-a']",
		"'kyverno-' + object.metadata.name == object.metadata.namespace.replace('kyverno', 'kyverno-') + object.metadata.name", "object.metadata.namespace < 'kyvernp' && object.metadata.namespace > 'kyvern'",
		// Exceptions.
		"object.kind.endsWith('exception'.replace('e', 'E', 1))", "object.kind == 'Policy' + 'Exception'", "object.apiVersion.startsWith('policies.kyverno.io/') && object.metadata.name == 'web'",
		"request.resource.resource.startsWith('policyexc') && object.metadata.namespace == 'team-a'", "request.kind.group == 'kyverno' + '.io'",
		"object.apiVersion == 'kyverno.io/v3' && object.metadata.name == 'web'", // a future version
		"oldObject.kind.contains('yE') && request.operation == 'DELETE'", "object.kind.contains('olicyE') && request.operation == 'UPDATE'",
	} {
		guardCases = append(guardCases, change{name: "reaches by " + expression, of: policies, old: goodCondition, new: quote(expression), config: withoutWidth,
			want: []string{"12 reaches-guard spec.matchConditions[0].expression"}})
	}
	for _, expression := range []string{
		"object.metadata.namespace.startsWith('team-')", "object.metadata.namespace == 'kyverno-demo'", "object.metadata.namespace.startsWith('kyvernos')",
		"object.kind == 'Deployment' && object.metadata.name.startsWith('kyv')", "object.kind == 'Policy' && object.metadata.name == 'web'", "object.apiVersion == 'apps/v3' && object.metadata.name == 'web'",
		"object.kind == 'ClusterRole' && object.metadata.name == 'web'", // has no namespace
	} {
		guardCases = append(guardCases, change{name: "does not reach by " + expression, of: policies, old: goodCondition, new: quote(expression)})
	}
	guardCases = append(guardCases,
		change{name: "what begins like exceptions is a kind too", of: policies, old: goodCondition, new: "object.kind.startsWith('PolicyE')",
			want: []string{"12 matches-everything spec.matchConditions[0].expression", "12 reaches-guard spec.matchConditions[0].expression"}},
		change{name: "two conditions together", of: policies, old: goodCondition,
			new:  "object.metadata.namespace.startsWith('ky')\n  - name: b\n    expression: object.metadata.namespace.endsWith('no')",
			want: []string{"12 reaches-guard spec.matchConditions[0].expression", "14 reaches-guard spec.matchConditions[1].expression"}},
		change{name: "two conditions of which one reaches by itself", of: policies, old: goodCondition,
			new:  "object.metadata.namespace.startsWith('ky')\n  - name: b\n    expression: object.metadata.namespace.endsWith('ny')",
			want: []string{"12 reaches-guard spec.matchConditions[0].expression"}},
		change{name: "a pattern of one's own", of: policies, config: shape.Config{GuardNamespaces: []string{"sec?rity-*"}}, old: goodCondition,
			new: "object.metadata.namespace.startsWith('sec')", want: []string{"12 reaches-guard spec.matchConditions[0].expression"}},
	)
}
