package shape_test

var kindCases = []change{
	{name: "another kind", of: legacy, old: "kind: PolicyException", new: "kind: ClusterPolicy", want: []string{"2 not-an-exception kind"}},
	{name: "another group", of: legacy, old: "kyverno.io/v2", new: "kyverno.example/v2", want: []string{"2 not-an-exception kind"}},
	{name: "a misspelt group", of: legacy, old: "kyverno.io/v2", new: "kyvrno.io/v2", want: []string{"1 not-an-exception apiVersion"}},
	{name: "another case", of: legacy, old: "kind: PolicyException", new: "kind: policyexception", want: []string{"2 not-an-exception kind"}},
	{name: "a list", of: "apiVersion: v1\nkind: List\nitems: []\n", want: []string{"2 not-an-exception kind"}},
	{name: "no kind", of: "metadata: {}\n", want: []string{"1 not-an-exception kind"}},
}
