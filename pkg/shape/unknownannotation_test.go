package shape_test

import (
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

var unknownAnnotationCases = []change{
	{name: "clusters: names and patterns", of: legacy, old: "  annotations:\n", new: "  annotations:\n    polex.dev/cluster: \"prod-*, test-1\"\n"},
	{name: "clusters: an ARN", of: legacy, old: "  annotations:\n", new: "  annotations:\n    polex.dev/cluster: arn:aws:eks:eu-west-1:1:cluster/prod\n"},
	{name: "clusters: spaces between names", of: legacy, old: "  annotations:\n", new: "  annotations:\n    polex.dev/cluster: prod-eu prod-us\n", want: []string{`7 bad-cluster metadata.annotations["polex.dev/cluster"]`}},
	{name: "clusters: semicolons", of: legacy, old: "  annotations:\n", new: "  annotations:\n    polex.dev/cluster: prod-eu;prod-us\n", want: []string{`7 bad-cluster metadata.annotations["polex.dev/cluster"]`}},
	{name: "clusters: a negation", of: legacy, old: "  annotations:\n", new: "  annotations:\n    polex.dev/cluster: \"!prod\"\n", want: []string{`7 bad-cluster metadata.annotations["polex.dev/cluster"]`}},
	{name: "clusters: a variable", of: legacy, old: "  annotations:\n", new: "  annotations:\n    polex.dev/cluster: \"${CLUSTER}\"\n", want: []string{`7 bad-cluster metadata.annotations["polex.dev/cluster"]`}},
	{name: "clusters: nothing", of: legacy, old: "  annotations:\n", new: "  annotations:\n    polex.dev/cluster: \"\"\n", want: []string{`7 bad-cluster metadata.annotations["polex.dev/cluster"]`}},
	{name: "clusters: a comma too many", of: legacy, old: "  annotations:\n", new: "  annotations:\n    polex.dev/cluster: \"prod,\"\n", want: []string{`7 bad-cluster metadata.annotations["polex.dev/cluster"]`}},
	{name: "misspelt limits", of: legacy, old: "  annotations:\n", new: "  labels: {polex.dev/cluster: test}\n  annotations:\n    polex.dev/expire-at: \"2026-06-08T12:00:00Z\"\n    polex.dev/start-at: \"2026-06-02T12:00:00Z\"\n    polex.dev/clusters: test\n",
		want: []string{`6 unknown-annotation metadata.labels["polex.dev/cluster"]`, `8 unknown-annotation metadata.annotations["polex.dev/expire-at"]`,
			`9 unknown-annotation metadata.annotations["polex.dev/start-at"]`, `10 unknown-annotation metadata.annotations["polex.dev/clusters"]`}},
	{name: "a limit among the properties", of: policies, old: "properties: {", new: "properties: {cluster: test, ",
		want: []string{"14 unknown-annotation spec.properties.cluster"}},
	{name: "a key of the team", config: shape.Config{Statements: exception.StatementKeys{"owner": []string{"polex.acme.example/owner"}}}, of: legacy,
		old: "  annotations:\n", new: "  annotations:\n    polex.acme.example/owner: a\n"},
}
