package trust_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

const legacyException = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: a
  namespace: exceptions
  annotations: {polex.dev/expires-at: "2026-01-02T00:00:00Z"}
spec:
  exceptions:
  - policyName: require-probes
    ruleNames: [a]
  match:
    any:
    - resources: {kinds: [Pod], namespaces: [payments, shop]}
`

const currentException = `apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: a, namespace: exceptions}
spec:
  expiresAt: "2026-01-02T00:00:00Z"
  policyRefs:
  - {kind: ValidatingPolicy, name: require-probes}
`

// conditional returns an exception of policies.kyverno.io with match conditions.
func conditional(expressions ...string) string {
	text := currentException + "  matchConditions:\n"
	for _, e := range expressions {
		text += "  - {name: c, expression: \"" + e + "\"}\n"
	}
	return text
}

func scope(t *testing.T, yaml string) policyfile.Scope {
	t.Helper()
	doc := must.Get(exception.Parse([]byte(yaml), "test.yaml"))(t)
	return new(policyfile.Rules).ScopeOf(doc)
}

func limited(l *trust.Selectors) trust.Config {
	return trust.Config{Kinds: []string{"*"}, Authorities: []trust.AuthorityConfig{{Name: "a", Issuer: issuer, Subject: subject, Limits: l}}}
}

// says compares a message with a part of it, or with none.
func says(t *testing.T, got, want string) {
	t.Helper()
	expect.That(t, (got == "") == (want == "") && strings.Contains(got, want), "%q, want %q", got, want)
}

// swapping returns a function that replaces texts, each of which must be there.
func swapping(t *testing.T) func(text string, oldnew ...string) string {
	return func(text string, oldnew ...string) string {
		t.Helper()
		for i := 0; i < len(oldnew); i += 2 {
			expect.Contains(t, text, oldnew[i])
			text = strings.ReplaceAll(text, oldnew[i], oldnew[i+1])
		}
		return text
	}
}

// TestExceeded checks documents with one limit each: "" means within the limit, otherwise it is a part of the message.
func TestExceeded(t *testing.T) {
	swap := swapping(t)
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: exceptions, annotations: {polex.dev/expires-at: \"2026-01-02T00:00:00Z\"}}\n"
	policy := func(name string) string { return swap(legacyException, "require-probes", name) }
	namespaced := swap(currentException, "ValidatingPolicy", "NamespacedValidatingPolicy")
	exempts := func(filters string) string {
		return swap(legacyException, "    any:\n    - resources: {kinds: [Pod], namespaces: [payments, shop]}\n", filters)
	}
	policies := func(names ...string) trust.Selectors { return trust.Selectors{Policies: names} }
	exempted := func(names ...string) trust.Selectors { return trust.Selectors{ExemptedNamespaces: names} }
	for _, tc := range []struct {
		name, yaml string
		limits     trust.Selectors
		want       string
	}{
		{"kind", legacyException, trust.Selectors{Kinds: []string{"PolicyException.kyverno.io"}}, ""},
		{"kind of the other group", currentException, trust.Selectors{Kinds: []string{"PolicyException.kyverno.io"}}, `limits.kinds are PolicyException.kyverno.io, and it is a "PolicyException.policies.kyverno.io"`},
		{"any kind", configMap, trust.Selectors{Kinds: []string{"*"}}, ""},
		{"namespace", configMap, trust.Selectors{Namespaces: []string{"a", "exceptions"}}, ""},
		{"namespace by a pattern", configMap, trust.Selectors{Namespaces: []string{"exc*ns"}}, ""},
		{"another namespace", configMap, trust.Selectors{Namespaces: []string{"exception", "xexceptions", "*n"}}, `limits.namespaces are exception, xexceptions, *n, and it is in "exceptions"`},
		{"no namespace", swap(configMap, "namespace: exceptions, ", ""), trust.Selectors{Namespaces: []string{"exceptions"}}, `is in ""`},
		{"any namespace", swap(configMap, "namespace: exceptions, ", ""), trust.Selectors{Namespaces: []string{"*"}}, ""},
		{"a namespace that is no text", swap(configMap, "namespace: exceptions", "namespace: [exceptions]"), trust.Selectors{Namespaces: []string{"exceptions"}}, `is in ""`},

		{"policy", legacyException, policies("require-probes"), ""},
		{"policy by a pattern", legacyException, policies("require-*"), ""},
		{"policy by two stars", legacyException, policies("*-p*es"), ""},
		{"policy of another end", legacyException, policies("*-p*e"), `it is from "require-probes"`},
		{"policy of another beginning", legacyException, policies("quire-*"), `it is from "require-probes"`},
		{"policy whose middle overlaps", policy("aba"), policies("ab*ba"), `it is from "aba"`},
		{"policy in another case", policy("Require-Probes"), policies("require-probes"), `it is from "Require-Probes"`},
		{"policy that is a pattern", policy("require-*"), policies("require-*"), `it is from "require-*"`},
		{"policy that is a pattern of one character", policy("require-probe?"), policies("require-*"), `it is from "require-probe?"`},
		{"policy that is a pattern, and all are allowed", policy("require-*"), policies("*"), ""},
		{"policy with a namespace", policy("shop/probes"), policies("shop/probes"), ""},
		{"policy with a namespace by a pattern", policy("shop/probes"), policies("shop/*"), ""},
		{"policy with any namespace", policy("shop/probes"), policies("*/probes"), ""},
		{"policy with a namespace, and all are allowed", policy("shop/probes"), policies("*"), ""},
		{"policy with a namespace, where none is meant", policy("shop/probes"), policies("sh*", "probes", "*probes"), `it is from "shop/probes"`},
		{"policy without a namespace, where one is meant", policy("probes"), policies("*/probes"), `it is from "probes"`},
		{"no policy", swap(legacyException, "  - policyName: require-probes\n    ruleNames: [a]\n", "    []\n"), policies("*"), "it names no policy"},
		{"policies that are no list", swap(legacyException, "  - policyName: require-probes\n    ruleNames: [a]\n", "    policyName: require-probes\n"), policies("*"), "it names no policy"},
		{"a policy without a name", swap(legacyException, "policyName: require-probes", "policyName: [require-probes]"), policies("require-*"), `it is from ""`},
		{"a second policy", swap(legacyException, "  match:", "  - policyName: other\n    ruleNames: [a]\n  match:"), policies("require-*"), `it is from "other"`},
		{"policy of the other group", currentException, policies("require-*"), ""},
		{"another policy of the other group", currentException, policies("require"), `it is from "require-probes"`},
		{"policies with a namespace by reference", namespaced, policies("*/require-*", "require-probes"), ""},
		{"policies with a namespace by reference, where one namespace is meant", namespaced, policies("shop/*", "require-probes", "s*/require-probes"), `it is from "require-probes" in any namespace, which "*/require-probes" would allow`},
		{"policies with a namespace by reference, and the cluster's of that name", namespaced, policies("*/require-*", "other"), `it is also from the cluster's policy "require-probes"`},
		{"policies with a namespace by reference, by a pattern of both", namespaced, policies("*/*", "require-*"), ""},
		{"policies with a namespace by reference, and all are allowed", namespaced, policies("*"), ""},
		{"a kind of policy that is no text", swap(currentException, "kind: ValidatingPolicy", "kind: [NamespacedValidatingPolicy]"), policies("require-*"), "spec.policyRefs[0].kind is a list, expected a text"},
		{"a policy that is no mapping", swap(legacyException, "  match:", "  - 1\n  match:"), policies("*"), "spec.exceptions[1] is a number, expected keys with values"},
		{"not an exception, and policies", configMap, policies("*"), "is from no policy"},

		{"exempted namespaces", legacyException, exempted("shop", "pay*"), ""},
		{"exempted namespace beyond", legacyException, exempted("shop"), `spec.match.any[0] exempts in "payments"`},
		{"exempted namespaces, none named", exempts("    any:\n    - resources: {kinds: [Pod]}\n"), exempted("*"), "spec.match.any[0] names no namespaces"},
		{"exempted namespaces, an empty list", exempts("    any:\n    - resources: {kinds: [Pod], namespaces: []}\n"), exempted("*"), "spec.match.any[0] names no namespaces"},
		{"exempted namespaces, a filter of senders", exempts("    any:\n    - subjects: [{kind: User, name: a}]\n"), exempted("shop"), "names no namespaces"},
		{"exempted namespaces, a second filter", exempts("    any:\n    - resources: {namespaces: [shop]}\n    - resources: {kinds: [Pod]}\n"), exempted("shop"), "spec.match.any[1] names no namespaces"},
		{"exempted namespaces, a filter of all", exempts("    all:\n    - resources: {namespaces: [shop]}\n    - resources: {namespaces: [other]}\n"), exempted("shop"), `spec.match.all[1] exempts in "other"`},
		{"exempted namespaces, a filter of all beside any", exempts("    any:\n    - resources: {namespaces: [shop]}\n    all:\n    - resources: {kinds: [Pod]}\n"), exempted("shop"), "spec.match.all[0] names no namespaces"},
		{"exempted namespaces, all within", exempts("    all:\n    - resources: {namespaces: [shop]}\n    - resources: {namespaces: [shop]}\n"), exempted("shop"), ""},
		{"exempted namespaces, a pattern", exempts("    any:\n    - resources: {namespaces: [shop*]}\n"), exempted("shop*"), `exempts in "shop*"`},
		{"exempted namespaces, a pattern, and all are allowed", exempts("    any:\n    - resources: {namespaces: [shop*]}\n"), exempted("*"), ""},
		{"exempted namespaces, an empty name", exempts("    any:\n    - resources: {namespaces: [\"\"]}\n"), exempted("shop"), `exempts in ""`},
		{"exempted namespaces, no text", exempts("    any:\n    - resources: {namespaces: [1]}\n"), exempted("shop"), "names no namespaces"},
		{"exempted namespaces, a text and no text", exempts("    any:\n    - resources: {namespaces: [shop, 1]}\n"), exempted("shop"), "spec.match.any[0].resources.namespaces[1] is a number, expected a text"},
		{"exempted namespaces, not a list", exempts("    any:\n    - resources: {namespaces: shop}\n"), exempted("shop"), "names no namespaces"},
		{"exempted namespaces, a filter that is none", exempts("    any:\n    - shop\n"), exempted("shop"), "names no namespaces"},
		{"exempted namespaces, no match", exempts("    {}\n"), exempted("shop"), "no filter"},
		{"exempted namespaces, the other group", currentException, exempted("*"), "no filter or condition"},
		{"exempted namespaces, a plain condition", conditional("object.metadata.namespace == 'shop' && object.kind == 'Pod'"), exempted("shop"), ""},
		{"exempted namespaces, a condition that may be true elsewhere", conditional("object.metadata.namespace == 'shop' || object.spec.x == 1"), exempted("shop"), "spec.matchConditions[0].expression names no namespaces in the form"},
		{"exempted namespaces, a condition beyond", conditional("object.metadata.namespace in ['shop', 'prod']"), exempted("shop"), `exempts in "prod"`},
		{"exempted namespaces, a prefix", conditional("object.metadata.namespace.startsWith('shop-')"), exempted("shop-*"), `exempts in "shop-*"`},
		{"exempted namespaces, the namespace of the request", conditional("request.namespace == 'shop'"), exempted("shop"), "names no namespaces"},
		{"exempted namespaces, one condition of two", conditional("object.metadata.namespace == 'shop'", "object.kind == 'Pod'"), exempted("shop"), "spec.matchConditions[1].expression names no namespaces"},
		{"exempted namespaces, images that a generated policy allows everywhere", conditional("object.metadata.namespace == 'shop'") + "  images: [\"ghcr.io/a/*\"]\n", exempted("shop"), "spec.images[0] names no namespaces"},
		{"exempted namespaces, values likewise", conditional("object.metadata.namespace == 'shop'") + "  allowedValues: [a]\n", exempted("shop"), "spec.allowedValues[0] names no namespaces"},
		{"exempted namespaces, a pair with the object of the request", conditional("request.object.metadata.namespace + '/' + object.metadata.name == 'shop/web'"), exempted("shop"), "names no namespaces"},
		{"exempted namespaces, a condition that is too long", conditional("object.metadata.namespace == 'shop' && " + strings.Repeat("true && ", 2000) + "true"), exempted("shop"), "names no namespaces"},
		{"exempted namespaces, a condition that is no text", swap(conditional("true"), `"true"`, "[true]"), exempted("shop"), "names no namespaces"},
		{"exempted namespaces, not an exception", configMap, exempted("*"), "exempts nothing"},

		{"two limits, the second broken", legacyException, trust.Selectors{Policies: []string{"require-*"}, Namespaces: []string{"a"}}, "limits.namespaces"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := must.Get(trust.New(limited(&tc.limits), root(t)))(t)
			says(t, p.Authorities()[0].Exceeded(scope(t, tc.yaml)), tc.want)
		})
	}
}

// TestLimitsRefused: limits that allow nothing or limit nothing are an error.
func TestLimitsRefused(t *testing.T) {
	legacy, none := []string{"PolicyException.kyverno.io"}, []string{}
	for _, tc := range []struct {
		name   string
		limits trust.Selectors
		kinds  []string
		want   string
	}{
		{"kinds", trust.Selectors{Kinds: legacy}, nil, ""},
		{"nothing", trust.Selectors{}, nil, "limit nothing"},
		{"no kinds", trust.Selectors{Kinds: none}, nil, "kinds: an empty list"},
		{"no namespaces", trust.Selectors{Namespaces: none}, nil, "namespaces: an empty list"},
		{"no exempted namespaces", trust.Selectors{ExemptedNamespaces: none}, nil, "exemptedNamespaces: an empty list"},
		{"no policies", trust.Selectors{Policies: none}, nil, "policies: an empty list"},
		{"a kind with a pattern", trust.Selectors{Kinds: []string{"Policy*"}}, nil, "neither a name"},
		{"an empty kind", trust.Selectors{Kinds: []string{""}}, nil, "neither a name"},
		{"a namespace with white space", trust.Selectors{Namespaces: []string{"prod "}}, nil, "neither a name"},
		{"an empty namespace", trust.Selectors{ExemptedNamespaces: []string{"a", ""}}, nil, "neither a name"},
		{"a policy without a namespace before its slash", trust.Selectors{Policies: []string{"/b"}}, nil, "neither a name"},
		{"an expression", trust.Selectors{Policies: []string{"require-.+"}}, nil, "neither a name"},
		{"a kind among all", trust.Selectors{Kinds: []string{"ConfigMap"}}, []string{"*"}, ""},
		{"all kinds", trust.Selectors{Kinds: []string{"*"}}, nil, ""},
		{"exempted namespaces of the other group", trust.Selectors{ExemptedNamespaces: []string{"a"}}, []string{"PolicyException.policies.kyverno.io"}, ""},
		{"exempted namespaces of no exception", trust.Selectors{ExemptedNamespaces: []string{"a"}}, []string{"ConfigMap"}, "not among the kinds"},
		{"exempted namespaces of another kind", trust.Selectors{ExemptedNamespaces: []string{"a"}, Kinds: []string{"ConfigMap"}}, []string{"*"}, "not among the kinds"},
		{"policies of another kind", trust.Selectors{Policies: []string{"a"}}, []string{"ConfigMap"}, "not among the kinds"},
		{"policies of one group", trust.Selectors{Policies: []string{"a"}, Kinds: []string{"PolicyException.policies.kyverno.io"}}, nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := limited(&tc.limits)
			config.Kinds = tc.kinds
			_, err := trust.New(config, root(t))
			expect.Outcome(t, err, tc.want)
		})
	}
}

const renewedBy = `annotations: {polex.dev/renewal: "2", polex.dev/renews: "a@sha256:0000000000000000000000000000000000000000000000000000000000000000", `

// TestRenewals checks documents with one limit each, as TestExceeded does.
func TestRenewals(t *testing.T) {
	swap := swapping(t)
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {polex.dev/renewal: \"1\"}}\n"
	renewal := swap(legacyException, "annotations: {", renewedBy)
	approved := func(from, by string) string {
		return swap(renewal, "annotations: {", fmt.Sprintf("annotations: {polex.dev/recorded-from: %q, polex.dev/approved-by: %q, ", from, by))
	}
	for _, tc := range []struct {
		name, yaml string
		limits     trust.RenewalsConfig
		want       string
	}{
		{"what is none", legacyException, trust.RenewalsConfig{RequireApprovals: 1}, ""},
		{"another kind", configMap, trust.RenewalsConfig{RequireApprovals: 1}, ""},
		{"half its word", swap(legacyException, "annotations: {", "annotations: {polex.dev/renewal: \"1\", "), trust.RenewalsConfig{Max: 1}, "cannot be read"},
		{"the other half", swap(legacyException, "annotations: {", "annotations: {polex.dev/renews: web, "), trust.RenewalsConfig{MaxLifetime: "1d"}, "cannot be read"},
		{"the other half, which nothing limits", swap(legacyException, "annotations: {", "annotations: {polex.dev/renews: web, "), trust.RenewalsConfig{RequireNewApprover: true}, ""},
		{"as many as may be", renewal, trust.RenewalsConfig{Max: 2}, ""},
		{"one too many", renewal, trust.RenewalsConfig{Max: 1}, "renewals.max is 1, and it is renewal 2"},
		{"a number that is none", swap(renewal, `renewal: "2"`, `renewal: "two"`), trust.RenewalsConfig{RequireApprovals: 1}, "cannot be read"},
		{"of the other group", swap(currentException, "namespace: exceptions}", "namespace: exceptions, "+renewedBy+"}}"), trust.RenewalsConfig{Max: 1}, "it is renewal 2"},
		{"approved by enough", approved("api", "bob, carol"), trust.RenewalsConfig{RequireApprovals: 2}, ""},
		{"approved by one", approved("api", "bob"), trust.RenewalsConfig{RequireApprovals: 2}, "renewals.requireApprovals is 2, and its record names 1"},
		{"approved by one twice", approved("api", "bob, Bob"), trust.RenewalsConfig{RequireApprovals: 2}, "names 1"},
		{"approved without a record", approved("", "bob, carol"), trust.RenewalsConfig{RequireApprovals: 2}, "names 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rules := must.Get(policyfile.Check(trust.Config{Renewals: &tc.limits}))(t)
			says(t, rules.Renewals.Exceeded(scope(t, tc.yaml)), tc.want)
		})
	}
	for want, bad := range map[string]trust.RenewalsConfig{
		"limit nothing": {}, "max: -1": {Max: -1}, "requireApprovals: -1": {RequireApprovals: -1},
	} {
		_, err := policyfile.Check(trust.Config{Renewals: &bad})
		expect.Error(t, err, want)
	}
}

// TestOutlasts: a rule about an authority reads the time of its own signature.
func TestOutlasts(t *testing.T) {
	swap := swapping(t)
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {polex.dev/expires-at: \"2026-01-02T00:00:00Z\"}}\n"
	for _, tc := range []struct {
		name, yaml, authority string
		signed                time.Time
		want                  string
	}{
		{"as long as allowed", legacyException, "a", at, ""},
		{"the other group", currentException, "a", at, ""},
		{"another kind", configMap, "a", at, ""},
		{"signed a second before", legacyException, "a", at.Add(-time.Second), `rule 1 of lifetimes allows "a" at most 1d, and it was signed at 2025-12-31T23:59:59Z and expires at 2026-01-02T00:00:00Z`},
		{"another authority", legacyException, "b", at.Add(-time.Second), ""},
		{"no witness", legacyException, "a", time.Time{}, "its signing time is not proven"},
		{"no end", swap(legacyException, "expires-at", "x"), "a", at, "never expires"},
		{"no end yet", swap(legacyException, `expires-at: "2026-01-02T00:00:00Z"`, "expires-in: 1h"), "a", at, "never expires"},
		{"not a time", swap(legacyException, "2026-01-02T00:00:00Z", "soon"), "a", at, "cannot be read"},
		{"a second rule, and another selector", swap(legacyException, "namespace: exceptions", "namespace: night"), "a", at, `rule 2 of lifetimes allows "a" at most 1h`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := policy()
			config.Authorities[0].Name = "a"
			config.Lifetimes = []trust.LifetimeConfig{{Authorities: []string{"a"}, Max: "1d"}, {Authorities: []string{"a"}, Selectors: trust.Selectors{Namespaces: []string{"night"}, Kinds: []string{"PolicyException.kyverno.io"}}, Max: "1h"}}
			rules := must.Get(policyfile.Check(config))(t)
			says(t, rules.Outlasts(tc.authority, scope(t, tc.yaml), tc.signed), tc.want)
			all := rules.MaxLifetime(scope(t, tc.yaml))
			expect.That(t, all.Duration == 0 && !all.Ends, "%+v for every signer", all)
		})
	}
}

// TestLifetimes: every rule that matches a document counts, and the shortest maximum applies.
func TestLifetimes(t *testing.T) {
	rules := func(rules ...trust.LifetimeConfig) []trust.LifetimeConfig { return rules }
	anywhere := strings.Replace(currentException, "kind: ValidatingPolicy", "kind: NamespacedValidatingPolicy", 1)
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	const hour, all = time.Hour, 90 * 24 * time.Hour
	for _, tc := range []struct {
		name, yaml string
		rules      []trust.LifetimeConfig
		want       time.Duration
	}{
		{"none", legacyException, nil, all},
		{"its policy", legacyException, rules(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"a", "require-*"}}, Max: "1h"}), hour},
		{"another policy", legacyException, rules(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"a"}}, Max: "1h"}), all},
		{"one of its policies", strings.Replace(legacyException, "  match:", "  - policyName: a\n    ruleNames: [a]\n  match:", 1), rules(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"a"}}, Max: "1h"}), hour},
		{"a pattern of policies", strings.Replace(legacyException, "require-probes", "b*", 1), rules(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"a"}}, Max: "1h"}), hour},
		{"a policy that cannot be read", strings.Replace(legacyException, "require-probes", "1", 1), rules(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"a"}}, Max: "1h"}), hour},
		{"no policy", strings.Replace(legacyException, "  - policyName: require-probes\n    ruleNames: [a]\n", "    []\n", 1), rules(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"a"}}, Max: "1h"}), hour},
		{"a policy of the other group", currentException, rules(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"require-probes"}}, Max: "1h"}), hour},
		{"a policy in a namespace", currentException, rules(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"shop/require-probes"}}, Max: "1h"}), all},
		{"a policy in any namespace", anywhere, rules(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"shop/require-probes"}}, Max: "1h"}), hour},
		{"another policy in any namespace", anywhere, rules(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"shop/a"}}, Max: "1h"}), all},
		{"a kind of policy that cannot be read", strings.Replace(currentException, "kind: ValidatingPolicy", "kind: [NamespacedValidatingPolicy]", 1), rules(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"shop/require-probes"}}, Max: "1h"}), hour},
		{"a kind without policies", configMap, rules(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"*"}}, Max: "1h"}), all},
		{"its namespace", legacyException, rules(trust.LifetimeConfig{Selectors: trust.Selectors{Namespaces: []string{"exc*"}}, Max: "1h"}), hour},
		{"another namespace", legacyException, rules(trust.LifetimeConfig{Selectors: trust.Selectors{Namespaces: []string{"a"}}, Max: "1h"}), all},
		{"a namespace that it does not say", configMap, rules(trust.LifetimeConfig{Selectors: trust.Selectors{Namespaces: []string{"a"}}, Max: "1h"}), hour},
		{"its kind", configMap, rules(trust.LifetimeConfig{Selectors: trust.Selectors{Kinds: []string{"ConfigMap"}}, Max: "1h"}), hour},
		{"another kind", legacyException, rules(trust.LifetimeConfig{Selectors: trust.Selectors{Kinds: []string{"ConfigMap"}}, Max: "1h"}), all},
		{"a namespace that it exempts in", legacyException, rules(trust.LifetimeConfig{Selectors: trust.Selectors{ExemptedNamespaces: []string{"sh*"}}, Max: "1h"}), hour},
		{"no namespace that it exempts in", legacyException, rules(trust.LifetimeConfig{Selectors: trust.Selectors{ExemptedNamespaces: []string{"exceptions"}}, Max: "1h"}), all},
		{"a pattern of namespaces that it exempts in", strings.Replace(legacyException, "[payments, shop]", "['*-eu']", 1), rules(trust.LifetimeConfig{Selectors: trust.Selectors{ExemptedNamespaces: []string{"prod-*"}}, Max: "1h"}), hour},
		{"exempts in any namespace", strings.Replace(legacyException, ", namespaces: [payments, shop]", "", 1), rules(trust.LifetimeConfig{Selectors: trust.Selectors{ExemptedNamespaces: []string{"prod"}}, Max: "1h"}), hour},
		{"exempts by expressions", currentException, rules(trust.LifetimeConfig{Selectors: trust.Selectors{ExemptedNamespaces: []string{"prod"}}, Max: "1h"}), hour},
		{"exempts in what cannot be read", strings.Replace(legacyException, "shop]", "1]", 1), rules(trust.LifetimeConfig{Selectors: trust.Selectors{ExemptedNamespaces: []string{"prod"}}, Max: "1h"}), hour},
		{"exempts nothing", configMap, rules(trust.LifetimeConfig{Selectors: trust.Selectors{ExemptedNamespaces: []string{"*"}}, Max: "1h"}), all},
		{"a renewal", strings.Replace(legacyException, "annotations: {", renewedBy, 1), nil, 2 * hour},
		{"a renewal that cannot be read", strings.Replace(legacyException, "annotations: {", "annotations: {polex.dev/renewal: x, ", 1), nil, 2 * hour},
		{"two selectors", legacyException, rules(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"require-*"}, Namespaces: []string{"exceptions"}}, Max: "1h"}), hour},
		{"two selectors, one of another", legacyException, rules(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"require-*"}, Namespaces: []string{"a"}}, Max: "1h"}), all},
		{"two rules", legacyException, rules(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"*"}}, Max: "1h"}, trust.LifetimeConfig{Selectors: trust.Selectors{Namespaces: []string{"*"}}, Max: "2h"}), hour},
		{"two rules in the other order", legacyException, rules(trust.LifetimeConfig{Selectors: trust.Selectors{Namespaces: []string{"*"}}, Max: "2h"}, trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"*"}}, Max: "1h"}), hour},
		{"longer than the maximum of all", legacyException, rules(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"*"}}, Max: "52w"}), all},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := policy()
			config.MaxLifetime, config.Lifetimes, config.Renewals = "90d", tc.rules, &trust.RenewalsConfig{MaxLifetime: "2h"}
			rules := must.Get(policyfile.Check(config))(t)
			got := rules.MaxLifetime(scope(t, tc.yaml))
			speaks := tc.want < all || tc.rules != nil && tc.rules[0].Max == "52w"
			expect.That(t, got.Duration == tc.want && got.Ends == speaks, "%+v, want %s", got, tc.want)
		})
	}
	for want, rule := range map[string]trust.LifetimeConfig{
		"max:":                  {Selectors: trust.Selectors{Policies: []string{"a"}}, Max: "0h"},
		"policies: an empty":    {Selectors: trust.Selectors{Policies: []string{}}, Max: "1h"},
		"namespaces":            {Selectors: trust.Selectors{Namespaces: []string{"A"}}, Max: "1h"},
		"authorities: an empty": {Authorities: []string{}, Max: "1h"},
		"kinds":                 {Selectors: trust.Selectors{Kinds: []string{"configmap"}}, Max: "1h"},
	} {
		config := policy()
		config.Lifetimes = rules(rule)
		expect.Failure(trust.New(config, root(t)))(t, "lifetimes 1: ", want)
	}
}
