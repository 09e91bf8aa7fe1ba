package shape_test

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
