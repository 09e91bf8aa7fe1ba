package shape_test

import "github.com/polex-dev/polex/pkg/shape"

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
		{name: "for the policy of a namespace that the exception cannot say", of: policies, config: limited(shape.Limit{MaxLifetime: day, Policies: []string{"shop/require-*"}}), old: "kind: V", new: "kind: NamespacedV", want: append(kept[:1:1], tooLongField...)},
		{name: "for the policy of a namespace, and the reference is to one of the cluster", of: policies, config: limited(shape.Limit{MaxLifetime: day, Policies: []string{"shop/require-*"}})},
		{name: "a longer one does not loosen", of: legacy, config: shape.Config{MaxLifetime: day, Limits: []shape.Limit{{MaxLifetime: 9 * day, Policies: []string{"require-*"}}}}, want: tooLong},
	}
)
