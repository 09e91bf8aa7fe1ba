package shape_test

import (
	"fmt"

	"github.com/polex-dev/polex/pkg/shape"
)

// severe has a limit for policies of high severity, and one policy with another severity or none.
func severe(severity string) shape.Config {
	annotation := ""
	if severity != "" {
		annotation = ", annotations: {policies.kyverno.io/severity: " + severity + "}"
	}
	config := knowing("apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: require-probes" + annotation + "}\nspec: {rules: [{name: check}, {name: autogen-check}]}\n")
	config.Limits = []shape.Limit{{MaxLifetime: day, Severities: []string{"critical", "high"}}}
	return config
}

// ofTwoKinds has a limit for policies of high severity, and two policies with the same name: one of
// low severity in a namespace, and one of high severity in the cluster.
func ofTwoKinds() shape.Config {
	const policy = "apiVersion: policies.kyverno.io/v1\nkind: %sValidatingPolicy\nmetadata: {name: require-probes, annotations: {policies.kyverno.io/severity: %s}}\nspec: {}\n"
	config := knowing(fmt.Sprintf(policy, "Namespaced", "low") + "---\n" + fmt.Sprintf(policy, "", "high"))
	config.Limits = []shape.Limit{{MaxLifetime: day, Severities: []string{"high"}}}
	return config
}

func limited(limits ...shape.Limit) shape.Config { return shape.Config{Limits: limits} }

var (
	tooLong      = []string{`8 lifetime-too-long metadata.annotations["polex.dev/expires-in"]`}
	tooLongField = []string{"13 lifetime-too-long spec.expiresAt"}
	limitCases   = []change{
		{name: "for the policy", of: legacy, config: limited(shape.Limit{MaxLifetime: day, Policies: []string{"other", "require-*"}}), want: tooLong},
		{name: "for the policy, which lives in a namespace", of: legacy, config: limited(shape.Limit{MaxLifetime: day, Policies: []string{"require-probes"}}), old: "policyName: require-probes", new: "policyName: team-a/require-probes", want: tooLong},
		{name: "for another policy", of: legacy, config: limited(shape.Limit{MaxLifetime: day, Policies: []string{"other"}})},
		{name: "for the namespace", of: legacy, config: limited(shape.Limit{MaxLifetime: day, Namespaces: []string{"team-a"}}), want: tooLong},
		{name: "for another namespace", of: legacy, config: limited(shape.Limit{MaxLifetime: day, Namespaces: []string{"prod-*"}})},
		{name: "for a namespace, and the match says none", of: legacy, config: limited(shape.Limit{MaxLifetime: day, Namespaces: []string{"prod-*"}}), old: "        namespaces: [team-a]\n", new: "", want: tooLong},
		{name: "for a namespace, and the match has a pattern", of: legacy, config: limited(shape.Limit{MaxLifetime: day, Namespaces: []string{"prod-*"}}), old: "[team-a]", new: "['*-eu']", want: tooLong},
		{name: "for a namespace, and conditions could mean it", of: policies, config: limited(shape.Limit{MaxLifetime: day, Namespaces: []string{"prod-*"}}), want: tooLongField},
		{name: "for policy and namespace, of which one fits", of: legacy, config: limited(shape.Limit{MaxLifetime: day, Policies: []string{"require-*"}, Namespaces: []string{"prod-*"}})},
		{name: "the shortest counts", of: legacy, config: limited(shape.Limit{MaxLifetime: 9 * day, Policies: []string{"require-*"}}, shape.Limit{MaxLifetime: 6 * day, Policies: []string{"*-probes"}}), want: tooLong},
		{name: "for the severity", of: legacy, config: severe("high"), want: tooLong},
		{name: "for another severity", of: legacy, config: severe("low")},
		{name: "for a severity, and the policy says none", of: legacy, config: severe(""), want: tooLong},
		{name: "for a severity, and the policy is not known", of: legacy, config: severe("low"), old: "policyName: require-probes", new: "policyName: other",
			want: append([]string{tooLong[0]}, "11 unknown-policy spec.exceptions[0].policyName")},
		{name: "for the policy of a namespace that the exception cannot say", of: policies, config: limited(shape.Limit{MaxLifetime: day, Policies: []string{"shop/require-*"}}), old: "kind: V", new: "kind: NamespacedV", want: tooLongField},
		{name: "for the policy of a namespace, and the reference is to one of the cluster", of: policies, config: limited(shape.Limit{MaxLifetime: day, Policies: []string{"shop/require-*"}})},
		{name: "for the severity of a policy of another kind, which the name reaches too", of: policies, config: ofTwoKinds(), old: "kind: V", new: "kind: NamespacedV", want: tooLongField},
		{name: "a longer one does not loosen", of: legacy, config: shape.Config{MaxLifetime: day, Limits: []shape.Limit{{MaxLifetime: 9 * day, Policies: []string{"require-*"}}}}, want: tooLong},
	}
)
