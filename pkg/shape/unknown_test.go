package shape_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
)

var unknownPolicyCases = []change{
	{name: "it exists", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", checkRule))},
	{name: "it exists in a namespace", of: legacy, config: knowing(legacyPolicy("Policy", "team-a/require-probes", checkRule)), old: "policyName: require-probes", new: "policyName: team-a/require-probes"},
	{name: "it exists in a namespace that kustomize says", of: legacy, config: knowing(legacyPolicy("Policy", "require-probes", checkRule)), old: "policyName: require-probes", new: "policyName: team-a/require-probes"},
	{name: "a kind of the other group exists", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onDeployments))},
	{name: "no policies at all", of: legacy, config: knowing(), want: []string{"11 unknown-policy spec.exceptions[0].policyName"}},
	{name: "misspelt", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probe", checkRule)), want: []string{"11 unknown-policy spec.exceptions[0].policyName"}},
	{name: "in other letters", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "Require-probes", checkRule)), want: []string{"11 unknown-policy spec.exceptions[0].policyName"}},
	{name: "in a namespace, named bare", of: legacy, config: knowing(legacyPolicy("Policy", "team-a/require-probes", checkRule)), want: []string{"11 unknown-policy spec.exceptions[0].policyName"}},
	{name: "in a namespace unsaid, named bare", of: legacy, config: knowing(legacyPolicy("Policy", "require-probes", checkRule)), want: []string{"11 unknown-policy spec.exceptions[0].policyName"}},
	{name: "in another namespace", of: legacy, config: knowing(legacyPolicy("Policy", "team-b/require-probes", checkRule)), old: "policyName: require-probes", new: "policyName: team-a/require-probes",
		want: []string{"11 unknown-policy spec.exceptions[0].policyName"}},
	{name: "for the cluster, named with a namespace", of: legacy, config: knowing(legacyPolicy("ClusterPolicy", "require-probes", checkRule)), old: "policyName: require-probes", new: "policyName: team-a/require-probes",
		want: []string{"11 unknown-policy spec.exceptions[0].policyName"}},
	{name: "of the other group", of: legacy, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onDeployments)), want: []string{"11 unknown-policy spec.exceptions[0].policyName"}},
	{name: "of another kind", of: policies, config: knowing(celPolicy("MutatingPolicy", "require-probes", onDeployments)), want: []string{"8 unknown-policy spec.policyRefs[0].name"}},
	{name: "of no kind there is", of: policies, config: knowing(celPolicy("ValidatingPolicy", "require-probes", onDeployments)), old: "kind: ValidatingPolicy", new: "kind: ValidatngPolicy",
		want: []string{"9 unknown-policy-kind spec.policyRefs[0].kind"}},
	{name: "a pattern is for another check", of: legacy, config: knowing(), old: "policyName: require-probes", new: "policyName: require-*",
		want: []string{"11 wildcard-policy spec.exceptions[0].policyName (warning)"}},
}

func TestUnknownPolicyHints(t *testing.T) {
	for _, tc := range []struct{ name, want string }{
		{"misspelt", `did you mean "require-probe"?`},
		{"in other letters", `did you mean "Require-probes"?`},
		{"in a namespace, named bare", `did you mean "team-a/require-probes"?`},
		{"in a namespace unsaid, named bare", `write its namespace before it`},
		{"for the cluster, named with a namespace", `"require-probes" is a ClusterPolicy: write its name alone`},
		{"of the other group", `"require-probes" is a ValidatingPolicy: write an exception of policies.kyverno.io`},
		{"of another kind", `write kind: MutatingPolicy`},
		{"no policies at all", "correct the name"},
	} {
		hasHint(t, unknownPolicyCases, tc.name, tc.want)
	}
}

// hasHint compares the hint of a case's only finding with a text.
func hasHint(t *testing.T, changes []change, name, want string) {
	t.Helper()
	for _, c := range changes {
		if c.name != name {
			continue
		}
		var hints []string
		for _, f := range c.findings(t) {
			if f.Reason != shape.ReasonWildcardRule {
				hints = append(hints, f.Hint)
			}
		}
		expect.That(t, len(hints) == 1 && strings.Contains(hints[0], want), "%s: hints %q, want %q", name, hints, want)
		return
	}
	t.Errorf("there is no case %q", name)
}

var probes = legacyPolicy("ClusterPolicy", "require-probes", checkRule, "name: other, match: {any: [{resources: {kinds: [Service]}}]}, validate: {pattern: {a: b}}")

var unknownRuleCases = []change{
	{name: "each exists", of: legacy, config: knowing(probes), old: "[check, autogen-check]", new: "[check, autogen-check, autogen-cronjob-check, other]"},
	{name: "a pattern fits some", of: legacy, config: knowing(probes), old: "autogen-check", new: "autogen-*", want: []string{"12 wildcard-rule spec.exceptions[0].ruleNames[1] (warning)"}},
	{name: "misspelt", of: legacy, config: knowing(probes), old: "[check, autogen-check]", new: "[chekc, autogen-check]", want: []string{"12 unknown-rule spec.exceptions[0].ruleNames[0]"}},
	{name: "in other letters", of: legacy, config: knowing(probes), old: "[check, autogen-check]", new: "[Check, autogen-check]", want: []string{"12 unknown-rule spec.exceptions[0].ruleNames[0]"}},
	{name: "a pattern fits none", of: legacy, config: knowing(probes), old: "[check, autogen-check]", new: "['look-*', autogen-check]",
		want: []string{"12 unknown-rule spec.exceptions[0].ruleNames[0]", "12 wildcard-rule spec.exceptions[0].ruleNames[0] (warning)"}},
	{name: "made of no rule for Services", of: legacy, config: knowing(probes), old: "[check, autogen-check]", new: "[autogen-check, autogen-other]",
		want: []string{"12 unknown-rule spec.exceptions[0].ruleNames[1]"}},
	{name: "of the policy in another cluster", of: legacy, config: knowing(probes, legacyPolicy("ClusterPolicy", "require-probes", "name: extra, match: {any: [{resources: {kinds: [Service]}}]}")),
		old: "[check, autogen-check]", new: "[check, autogen-check, extra]"},
	{name: "of a policy that is unknown", of: legacy, config: knowing(probes), old: "policyName: require-probes\n    ruleNames: [check", new: "policyName: nothing-alike\n    ruleNames: [what",
		want: []string{"11 unknown-policy spec.exceptions[0].policyName"}},
}

func TestUnknownRuleHints(t *testing.T) {
	hasHint(t, unknownRuleCases, "misspelt", `did you mean "check"?`)
	hasHint(t, unknownRuleCases, "in other letters", `did you mean "check"?`)
	hasHint(t, unknownRuleCases, "made of no rule for Services", `Kyverno generates no such rule from "other"`)
	hasHint(t, unknownRuleCases, "a pattern fits none", "name a rule of the policy")
}
