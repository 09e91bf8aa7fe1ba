package shape_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
)

const twoPolicies = "[check, autogen-check]\n  - policyName: another\n    ruleNames: [check]"

var scopeCases = []change{
	{name: "namespace that is allowed", of: legacy, config: shape.Config{Namespaces: []string{"platform", "team-*"}}},
	{name: "namespace that is not", of: legacy, config: shape.Config{Namespaces: []string{"platform", "teams-*"}}, want: []string{"5 wrong-namespace metadata.namespace"}},
	{name: "as many policies as allowed", of: legacy, config: shape.Config{MaxPolicies: new(2)}, old: "[check, autogen-check]", new: twoPolicies},
	{name: "too many policies", of: legacy, config: shape.Config{MaxPolicies: new(1)}, old: "[check, autogen-check]", new: twoPolicies, want: []string{"13 too-many-policies spec.exceptions[1]"}},
	{name: "too many policies, native", of: policies, config: shape.Config{MaxPolicies: new(1)}, old: "    kind: ValidatingPolicy\n", new: "    kind: ValidatingPolicy\n  - {name: b, kind: ValidatingPolicy}\n",
		want: []string{"10 too-many-policies spec.policyRefs[1]"}},
	{name: "names asked for, and there", of: legacy, config: shape.Config{RequireInMatch: []string{"names", "namespaces"}}},
	{name: "no names", of: legacy, config: shape.Config{RequireInMatch: []string{"names"}}, old: "        names: [web]\n", new: "", want: []string{"15 missing-names spec.match.any[0].resources"}},
	{name: "a custom kind without a namespace", of: legacy, config: shape.Config{RequireInMatch: []string{"namespaces"}, ClusterScoped: []string{"ClusterIssuer.cert-manager.io"}}, old: scopeOfLegacy, new: "kinds: [cert-manager.io/v1/ClusterIssuer]\n        names: [web]"},
	{name: "a custom kind that is not listed", of: legacy, config: shape.Config{RequireInMatch: []string{"namespaces"}, ClusterScoped: []string{"Issuer.cert-manager.io"}}, old: scopeOfLegacy, new: "kinds: [cert-manager.io/v1/ClusterIssuer]\n        names: [web]",
		want: []string{"15 missing-namespaces spec.match.any[0].resources"}},
	{name: "a kind of Kubernetes without its group", of: legacy, config: shape.Config{RequireInMatch: []string{"namespaces"}}, old: scopeOfLegacy, new: "kinds: [ClusterRole]\n        names: [web]",
		want: []string{"15 missing-namespaces spec.match.any[0].resources"}},
	{name: "no namespaces", of: legacy, config: shape.Config{RequireInMatch: []string{"namespaces"}}, old: "        namespaces: [team-a]\n", new: "", want: []string{"15 missing-namespaces spec.match.any[0].resources"}},
	{name: "no namespaces, of what is in none", of: legacy, config: shape.Config{RequireInMatch: []string{"namespaces", "names"}}, old: legacyMatch, new: strings.Replace(strings.Replace(legacyMatch, "kinds: [Deployment]", "kinds: [rbac.authorization.k8s.io/*/ClusterRole, v1/Node]", 1), "        namespaces: [team-a]\n", "", 1)},
	{name: "no namespaces, of what may be in one", of: legacy, config: shape.Config{RequireInMatch: []string{"namespaces"}}, old: legacyMatch, new: strings.Replace(strings.Replace(legacyMatch, "kinds: [Deployment]", "kinds: [rbac.authorization.k8s.io/*/ClusterRole, ClusterRole]", 1), "        namespaces: [team-a]\n", "", 1),
		want: []string{"15 missing-namespaces spec.match.any[0].resources"}},
	{name: "no namespaces, of Namespaces", of: legacy, config: shape.Config{RequireInMatch: []string{"namespaces"}}, old: legacyMatch, new: strings.Replace(strings.Replace(legacyMatch, "kinds: [Deployment]", "kinds: [v1/Namespace]", 1), "        namespaces: [team-a]\n", "", 1),
		want: []string{"15 missing-namespaces spec.match.any[0].resources"}},
	{name: "no senders", of: legacy, config: shape.Config{RequireInMatch: []string{"subjects"}}, want: []string{"15 missing-subjects spec.match.any[0]"}},
	{name: "senders", of: legacy, config: shape.Config{RequireInMatch: []string{"subjects"}}, old: legacyMatch, new: "  background: false\n" + strings.Replace(legacyMatch, "    - resources:", "    - subjects: [{kind: User, name: ci}]\n      resources:", 1)},
	{name: "empty senders", of: legacy, config: shape.Config{RequireInMatch: []string{"subjects"}}, old: "    - resources:", new: "    - subjects: []\n      resources:", want: []string{"15 missing-subjects spec.match.any[0]"}},
}

func TestScopeHints(t *testing.T) {
	hasHint(t, scopeCases, "no namespaces", "namespaces: [team-a]")
	hasHint(t, scopeCases, "a kind of Kubernetes without its group", "write rbac.authorization.k8s.io/v1/ClusterRole")
	hasHint(t, scopeCases, "a custom kind that is not listed", "shape.clusterScoped")
}

func TestNeverMatchesHints(t *testing.T) {
	hasHint(t, autogenCases, "a controller and the rule alone", `add "autogen-check" to ruleNames`)
	hasHint(t, neverCases, "a namespace for a kind without one", "remove namespaces")
	hasHint(t, neverCases, "the sender, in background scans", "background: false")
	hasHint(t, neverCases, "another version", `write "apps/v1/Deployment"`)
	hasHint(t, mayFailCases, "a group that is gone", `write "apps/v1/Deployment"`)
	hasHint(t, mayFailCases, "a group that is none", "write v1 for core/v1")
}
