package trust_test

import (
	"crypto/elliptic"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
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

func scope(t *testing.T, yaml string) trust.Scope {
	t.Helper()
	doc, err := exception.Parse([]byte(yaml), "test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return (&trust.Policy{}).ScopeOf(doc)
}

func limited(l *trust.LimitsConfig) trust.Config {
	return trust.Config{Kinds: []string{"*"}, Authorities: []trust.AuthorityConfig{{Name: "a", Issuer: issuer, Subject: subject, Limits: l}}}
}

// TestWithin checks documents with one limit each: "" means within the limit, otherwise it is a
// part of the message.
func TestWithin(t *testing.T) {
	swap := func(text string, oldnew ...string) string {
		t.Helper()
		for i := 0; i < len(oldnew); i += 2 {
			if !strings.Contains(text, oldnew[i]) {
				t.Fatalf("%q is not in the text", oldnew[i])
			}
			text = strings.ReplaceAll(text, oldnew[i], oldnew[i+1])
		}
		return text
	}
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: exceptions, annotations: {polex.dev/expires-at: \"2026-01-02T00:00:00Z\"}}\n"
	policy := func(name string) string { return swap(legacyException, "require-probes", name) }
	namespaced := swap(currentException, "ValidatingPolicy", "NamespacedValidatingPolicy")
	exempts := func(filters string) string {
		return swap(legacyException, "    any:\n    - resources: {kinds: [Pod], namespaces: [payments, shop]}\n", filters)
	}
	policies := func(names ...string) trust.LimitsConfig { return trust.LimitsConfig{Policies: names} }
	exempted := func(names ...string) trust.LimitsConfig { return trust.LimitsConfig{ExemptedNamespaces: names} }
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	renewal := swap(legacyException, "annotations: {", `annotations: {polex.dev/renewal: "2", polex.dev/renews: "a@sha256:`+strings.Repeat("0", 64)+`", `)
	approved := func(from, by string) string {
		return swap(renewal, "annotations: {", fmt.Sprintf("annotations: {polex.dev/recorded-from: %q, polex.dev/approved-by: %q, ", from, by))
	}
	renewals := func(l trust.RenewalLimitsConfig) trust.LimitsConfig { return trust.LimitsConfig{Renewals: &l} }
	for _, tc := range []struct {
		name, yaml string
		limits     trust.LimitsConfig
		witnessed  time.Time
		want       string
	}{
		{"kind", legacyException, trust.LimitsConfig{Kinds: []string{"PolicyException.kyverno.io"}}, at, ""},
		{"kind of the other group", currentException, trust.LimitsConfig{Kinds: []string{"PolicyException.kyverno.io"}}, at, `limits.kinds are PolicyException.kyverno.io, and it is a "PolicyException.policies.kyverno.io"`},
		{"any kind", configMap, trust.LimitsConfig{Kinds: []string{"*"}}, at, ""},
		{"namespace", configMap, trust.LimitsConfig{Namespaces: []string{"a", "exceptions"}}, at, ""},
		{"namespace by a pattern", configMap, trust.LimitsConfig{Namespaces: []string{"exc*ns"}}, at, ""},
		{"another namespace", configMap, trust.LimitsConfig{Namespaces: []string{"exception", "xexceptions", "*n"}}, at, `limits.namespaces are exception, xexceptions, *n, and it is in "exceptions"`},
		{"no namespace", swap(configMap, "namespace: exceptions, ", ""), trust.LimitsConfig{Namespaces: []string{"exceptions"}}, at, `is in ""`},
		{"any namespace", swap(configMap, "namespace: exceptions, ", ""), trust.LimitsConfig{Namespaces: []string{"*"}}, at, ""},
		{"a namespace that is no text", swap(configMap, "namespace: exceptions", "namespace: [exceptions]"), trust.LimitsConfig{Namespaces: []string{"exceptions"}}, at, `is in ""`},

		{"policy", legacyException, policies("require-probes"), at, ""},
		{"policy by a pattern", legacyException, policies("require-*"), at, ""},
		{"policy by two stars", legacyException, policies("*-p*es"), at, ""},
		{"policy of another end", legacyException, policies("*-p*e"), at, `it is from "require-probes"`},
		{"policy of another beginning", legacyException, policies("quire-*"), at, `it is from "require-probes"`},
		{"policy whose middle overlaps", policy("aba"), policies("ab*ba"), at, `it is from "aba"`},
		{"policy in another case", policy("Require-Probes"), policies("require-probes"), at, `it is from "Require-Probes"`},
		{"policy that is a pattern", policy("require-*"), policies("require-*"), at, `it is from "require-*"`},
		{"policy that is a pattern of one character", policy("require-probe?"), policies("require-*"), at, `it is from "require-probe?"`},
		{"policy that is a pattern, and all are allowed", policy("require-*"), policies("*"), at, ""},
		{"policy with a namespace", policy("shop/probes"), policies("shop/probes"), at, ""},
		{"policy with a namespace by a pattern", policy("shop/probes"), policies("shop/*"), at, ""},
		{"policy with any namespace", policy("shop/probes"), policies("*/probes"), at, ""},
		{"policy with a namespace, and all are allowed", policy("shop/probes"), policies("*"), at, ""},
		{"policy with a namespace, where none is meant", policy("shop/probes"), policies("sh*", "probes", "*probes"), at, `it is from "shop/probes"`},
		{"policy without a namespace, where one is meant", policy("probes"), policies("*/probes"), at, `it is from "probes"`},
		{"no policy", swap(legacyException, "  - policyName: require-probes\n    ruleNames: [a]\n", "    []\n"), policies("*"), at, "it names no policy"},
		{"policies that are no list", swap(legacyException, "  - policyName: require-probes\n    ruleNames: [a]\n", "    policyName: require-probes\n"), policies("*"), at, "it names no policy"},
		{"a policy without a name", swap(legacyException, "policyName: require-probes", "policyName: [require-probes]"), policies("require-*"), at, `it is from ""`},
		{"a second policy", swap(legacyException, "  match:", "  - policyName: other\n    ruleNames: [a]\n  match:"), policies("require-*"), at, `it is from "other"`},
		{"policy of the other group", currentException, policies("require-*"), at, ""},
		{"another policy of the other group", currentException, policies("require"), at, `it is from "require-probes"`},
		{"policies with a namespace by reference", namespaced, policies("*/require-*", "require-probes"), at, ""},
		{"policies with a namespace by reference, where one namespace is meant", namespaced, policies("shop/*", "require-probes", "s*/require-probes"), at, `it is from "require-probes" in any namespace, which "*/require-probes" would allow`},
		{"policies with a namespace by reference, and the cluster's of that name", namespaced, policies("*/require-*", "other"), at, `it is also from the cluster's policy "require-probes"`},
		{"policies with a namespace by reference, by a pattern of both", namespaced, policies("*/*", "require-*"), at, ""},
		{"policies with a namespace by reference, and all are allowed", namespaced, policies("*"), at, ""},
		{"a kind of policy that is no text", swap(currentException, "kind: ValidatingPolicy", "kind: [NamespacedValidatingPolicy]"), policies("require-*"), at, "spec.policyRefs[0].kind is a list, expected a text"},
		{"a policy that is no mapping", swap(legacyException, "  match:", "  - 1\n  match:"), policies("*"), at, "spec.exceptions[1] is a number, expected keys with values"},
		{"not an exception, and policies", configMap, policies("*"), at, "is from no policy"},

		{"exempted namespaces", legacyException, exempted("shop", "pay*"), at, ""},
		{"exempted namespace beyond", legacyException, exempted("shop"), at, `spec.match.any[0] exempts in "payments"`},
		{"exempted namespaces, none named", exempts("    any:\n    - resources: {kinds: [Pod]}\n"), exempted("*"), at, "spec.match.any[0] names no namespaces"},
		{"exempted namespaces, an empty list", exempts("    any:\n    - resources: {kinds: [Pod], namespaces: []}\n"), exempted("*"), at, "spec.match.any[0] names no namespaces"},
		{"exempted namespaces, a filter of senders", exempts("    any:\n    - subjects: [{kind: User, name: a}]\n"), exempted("shop"), at, "names no namespaces"},
		{"exempted namespaces, a second filter", exempts("    any:\n    - resources: {namespaces: [shop]}\n    - resources: {kinds: [Pod]}\n"), exempted("shop"), at, "spec.match.any[1] names no namespaces"},
		{"exempted namespaces, a filter of all", exempts("    all:\n    - resources: {namespaces: [shop]}\n    - resources: {namespaces: [other]}\n"), exempted("shop"), at, `spec.match.all[1] exempts in "other"`},
		{"exempted namespaces, a filter of all beside any", exempts("    any:\n    - resources: {namespaces: [shop]}\n    all:\n    - resources: {kinds: [Pod]}\n"), exempted("shop"), at, "spec.match.all[0] names no namespaces"},
		{"exempted namespaces, all within", exempts("    all:\n    - resources: {namespaces: [shop]}\n    - resources: {namespaces: [shop]}\n"), exempted("shop"), at, ""},
		{"exempted namespaces, a pattern", exempts("    any:\n    - resources: {namespaces: [shop*]}\n"), exempted("shop*"), at, `exempts in "shop*"`},
		{"exempted namespaces, a pattern, and all are allowed", exempts("    any:\n    - resources: {namespaces: [shop*]}\n"), exempted("*"), at, ""},
		{"exempted namespaces, an empty name", exempts("    any:\n    - resources: {namespaces: [\"\"]}\n"), exempted("shop"), at, `exempts in ""`},
		{"exempted namespaces, no text", exempts("    any:\n    - resources: {namespaces: [1]}\n"), exempted("shop"), at, "names no namespaces"},
		{"exempted namespaces, a text and no text", exempts("    any:\n    - resources: {namespaces: [shop, 1]}\n"), exempted("shop"), at, "spec.match.any[0].resources.namespaces[1] is a number, expected a text"},
		{"exempted namespaces, not a list", exempts("    any:\n    - resources: {namespaces: shop}\n"), exempted("shop"), at, "names no namespaces"},
		{"exempted namespaces, a filter that is none", exempts("    any:\n    - shop\n"), exempted("shop"), at, "names no namespaces"},
		{"exempted namespaces, no match", exempts("    {}\n"), exempted("shop"), at, "no filter"},
		{"exempted namespaces, the other group", currentException, exempted("*"), at, "cannot show which namespaces it reaches"},
		{"exempted namespaces, not an exception", configMap, exempted("*"), at, "exempts nothing"},

		{"lifetime", legacyException, trust.LimitsConfig{MaxLifetime: "1d"}, at, ""},
		{"lifetime of the other group", currentException, trust.LimitsConfig{MaxLifetime: "1d"}, at, ""},
		{"lifetime of another kind", configMap, trust.LimitsConfig{MaxLifetime: "1d"}, at, ""},
		{"lifetime, signed a second before", legacyException, trust.LimitsConfig{MaxLifetime: "1d"}, at.Add(-time.Second), "limits.maxLifetime is 1d, and it was signed at 2025-12-31T23:59:59Z until 2026-01-02T00:00:00Z"},
		{"lifetime, no witness", legacyException, trust.LimitsConfig{MaxLifetime: "1d"}, time.Time{}, "its signing time is not proven"},
		{"lifetime, no end", swap(legacyException, "expires-at", "x"), trust.LimitsConfig{MaxLifetime: "1d"}, at, "never expires"},
		{"lifetime, no end yet", swap(legacyException, `expires-at: "2026-01-02T00:00:00Z"`, "expires-in: 1h"), trust.LimitsConfig{MaxLifetime: "1d"}, at, "never expires"},
		{"lifetime, not a time", swap(legacyException, "2026-01-02T00:00:00Z", "soon"), trust.LimitsConfig{MaxLifetime: "1d"}, at, "cannot be read"},

		{"renewals of what is none", legacyException, renewals(trust.RenewalLimitsConfig{Forbid: true}), at, ""},
		{"renewals of another kind", swap(configMap, "annotations: {", "annotations: {polex.dev/renewal: \"1\", "), renewals(trust.RenewalLimitsConfig{Forbid: true}), at, ""},
		{"renewals, none may be", renewal, renewals(trust.RenewalLimitsConfig{Forbid: true}), at, "limits.renewals.forbid is set, and it renews another"},
		{"renewals, none may be, by half its word", swap(legacyException, "annotations: {", "annotations: {polex.dev/renewal: \"1\", "), renewals(trust.RenewalLimitsConfig{Forbid: true}), at, "it renews another"},
		{"renewals, none may be, by the other half", swap(legacyException, "annotations: {", "annotations: {polex.dev/renews: web, "), renewals(trust.RenewalLimitsConfig{Forbid: true}), at, "it renews another"},
		{"renewals, as many as may be", renewal, renewals(trust.RenewalLimitsConfig{Max: 2}), at, ""},
		{"renewals, one too many", renewal, renewals(trust.RenewalLimitsConfig{Max: 1}), at, "limits.renewals.max is 1, and it is renewal 2"},
		{"renewals, a number that is none", swap(renewal, `renewal: "2"`, `renewal: "two"`), renewals(trust.RenewalLimitsConfig{Max: 3}), at, "its reference to the renewed exception cannot be read"},
		{"renewals, no number", swap(renewal, `polex.dev/renewal: "2", `, ""), renewals(trust.RenewalLimitsConfig{Max: 3}), at, "cannot be read"},
		{"renewals of the other group", swap(currentException, "namespace: exceptions}", "namespace: exceptions, annotations: {polex.dev/renewal: \"2\", polex.dev/renews: \"a@sha256:"+strings.Repeat("0", 64)+"\"}}"), renewals(trust.RenewalLimitsConfig{Max: 1}), at, "it is renewal 2"},
		{"renewals, short enough", renewal, renewals(trust.RenewalLimitsConfig{MaxLifetime: "1d"}), at, ""},
		{"renewals, too long", renewal, renewals(trust.RenewalLimitsConfig{MaxLifetime: "23h"}), at, "limits.renewals.maxLifetime is 23h, and it was signed at"},
		{"renewals, too long for any", renewal, trust.LimitsConfig{MaxLifetime: "1h", Renewals: &trust.RenewalLimitsConfig{MaxLifetime: "2d"}}, at, "limits.maxLifetime is 1h"},
		{"renewals, nobody witnessed", renewal, renewals(trust.RenewalLimitsConfig{MaxLifetime: "1d"}), time.Time{}, "its signing time is not proven"},
		{"renewals, approved by enough", approved("api", "bob, carol"), renewals(trust.RenewalLimitsConfig{RequireApprovals: 2}), at, ""},
		{"renewals, approved by one", approved("api", "bob"), renewals(trust.RenewalLimitsConfig{RequireApprovals: 2}), at, "limits.renewals.requireApprovals is 2, and its record names 1"},
		{"renewals, approved by one twice", approved("api", "bob, Bob"), renewals(trust.RenewalLimitsConfig{RequireApprovals: 2}), at, "names 1"},
		{"renewals, approved without a record", approved("", "bob, carol"), renewals(trust.RenewalLimitsConfig{RequireApprovals: 2}), at, "names 0"},

		{"two limits, the second broken", legacyException, trust.LimitsConfig{Policies: []string{"require-*"}, MaxLifetime: "1h"}, at, "limits.maxLifetime"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := trust.New(limited(&tc.limits), root(t))
			if err != nil {
				t.Fatal(err)
			}
			is, got := p.Authorities()[0].Within(scope(t, tc.yaml), tc.witnessed)
			if is != (tc.want == "") || is != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestLimitsRefused: limits that allow nothing or limit nothing are an error.
func TestLimitsRefused(t *testing.T) {
	legacy, none := []string{"PolicyException.kyverno.io"}, []string{}
	for _, tc := range []struct {
		name   string
		limits trust.LimitsConfig
		kinds  []string
		want   string
	}{
		{"kinds", trust.LimitsConfig{Kinds: legacy}, nil, ""},
		{"nothing", trust.LimitsConfig{}, nil, "limit nothing"},
		{"no kinds", trust.LimitsConfig{Kinds: none}, nil, "kinds: an empty list"},
		{"no namespaces", trust.LimitsConfig{Namespaces: none}, nil, "namespaces: an empty list"},
		{"no exempted namespaces", trust.LimitsConfig{ExemptedNamespaces: none}, nil, "exemptedNamespaces: an empty list"},
		{"no policies", trust.LimitsConfig{Policies: none}, nil, "policies: an empty list"},
		{"no lifetime", trust.LimitsConfig{MaxLifetime: "0h"}, nil, "maxLifetime"},
		{"less than no lifetime", trust.LimitsConfig{MaxLifetime: "-4h"}, nil, "maxLifetime"},
		{"renewals of nothing", trust.LimitsConfig{Renewals: &trust.RenewalLimitsConfig{}}, nil, "renewals: they limit nothing"},
		{"no renewals", trust.LimitsConfig{Renewals: &trust.RenewalLimitsConfig{Forbid: true}}, nil, ""},
		{"no renewals, and so many", trust.LimitsConfig{Renewals: &trust.RenewalLimitsConfig{Forbid: true, Max: 1}}, nil, "remove the other limits"},
		{"fewer renewals than none", trust.LimitsConfig{Renewals: &trust.RenewalLimitsConfig{Max: -1}}, nil, "renewals: max: -1"},
		{"more renewals than can be", trust.LimitsConfig{Renewals: &trust.RenewalLimitsConfig{Max: 999}}, nil, "renewals: max: 999"},
		{"renewals of no lifetime", trust.LimitsConfig{Renewals: &trust.RenewalLimitsConfig{MaxLifetime: "0h"}}, nil, "renewals: maxLifetime"},
		{"fewer approvals than none", trust.LimitsConfig{Renewals: &trust.RenewalLimitsConfig{RequireApprovals: -1}}, nil, "requireApprovals: -1"},
		{"more approvals than there can be", trust.LimitsConfig{Renewals: &trust.RenewalLimitsConfig{RequireApprovals: 101}}, nil, "requireApprovals: 101"},
		{"renewals of another kind", trust.LimitsConfig{Renewals: &trust.RenewalLimitsConfig{Max: 1}}, []string{"ConfigMap"}, "not among the kinds"},
		{"a kind in lower case", trust.LimitsConfig{Kinds: []string{"policyexception.kyverno.io"}}, nil, "neither a name"},
		{"a kind with a pattern", trust.LimitsConfig{Kinds: []string{"Policy*"}}, nil, "neither a name"},
		{"an empty kind", trust.LimitsConfig{Kinds: []string{""}}, nil, "neither a name"},
		{"a namespace in upper case", trust.LimitsConfig{Namespaces: []string{"Prod"}}, nil, "neither a name"},
		{"a namespace with a range of characters", trust.LimitsConfig{Namespaces: []string{"prod-[ab]"}}, nil, "neither a name"},
		{"a namespace with white space", trust.LimitsConfig{Namespaces: []string{"prod "}}, nil, "neither a name"},
		{"an empty namespace", trust.LimitsConfig{ExemptedNamespaces: []string{"a", ""}}, nil, "neither a name"},
		{"a policy with two slashes", trust.LimitsConfig{Policies: []string{"a/b/c"}}, nil, "neither a name"},
		{"a policy without a namespace before its slash", trust.LimitsConfig{Policies: []string{"/b"}}, nil, "neither a name"},
		{"an expression", trust.LimitsConfig{Policies: []string{"require-.+"}}, nil, "neither a name"},
		{"a kind that the policy does not speak of", trust.LimitsConfig{Kinds: []string{"ConfigMap"}}, nil, "are not in the trust policy"},
		{"a kind among all", trust.LimitsConfig{Kinds: []string{"ConfigMap"}}, []string{"*"}, ""},
		{"all kinds", trust.LimitsConfig{Kinds: []string{"*"}}, nil, ""},
		{"exempted namespaces of the other group", trust.LimitsConfig{ExemptedNamespaces: []string{"a"}}, []string{"PolicyException.policies.kyverno.io"}, "not among the kinds"},
		{"exempted namespaces of another kind", trust.LimitsConfig{ExemptedNamespaces: []string{"a"}, Kinds: []string{"ConfigMap"}}, []string{"*"}, "not among the kinds"},
		{"policies of another kind", trust.LimitsConfig{Policies: []string{"a"}}, []string{"ConfigMap"}, "not among the kinds"},
		{"policies of one group", trust.LimitsConfig{Policies: []string{"a"}, Kinds: []string{"PolicyException.policies.kyverno.io"}}, nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := limited(&tc.limits)
			config.Kinds = tc.kinds
			_, err := trust.New(config, root(t))
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q in it", err, tc.want)
			}
		})
	}
	for _, l := range []trust.LimitsConfig{{MaxLifetime: "4h"}, {Renewals: &trust.RenewalLimitsConfig{MaxLifetime: "4h"}}} {
		config := limited(&l)
		config.Authorities[0] = trust.AuthorityConfig{Key: keyPEM(t, elliptic.P256()), InsecureWithoutLog: true, Limits: config.Authorities[0].Limits}
		if _, err := trust.New(config, root(t, "tlogs", "timestampAuthorities")); err == nil || !strings.Contains(err.Error(), "cannot be proven") {
			t.Errorf("a lifetime that nothing would witness: %v", err)
		}
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
		{"its policy", legacyException, rules(trust.LifetimeConfig{Policies: []string{"a", "require-*"}, Max: "1h"}), hour},
		{"another policy", legacyException, rules(trust.LifetimeConfig{Policies: []string{"a"}, Max: "1h"}), all},
		{"one of its policies", strings.Replace(legacyException, "  match:", "  - policyName: a\n    ruleNames: [a]\n  match:", 1), rules(trust.LifetimeConfig{Policies: []string{"a"}, Max: "1h"}), hour},
		{"a pattern of policies", strings.Replace(legacyException, "require-probes", "b*", 1), rules(trust.LifetimeConfig{Policies: []string{"a"}, Max: "1h"}), hour},
		{"a policy that cannot be read", strings.Replace(legacyException, "require-probes", "1", 1), rules(trust.LifetimeConfig{Policies: []string{"a"}, Max: "1h"}), hour},
		{"no policy", strings.Replace(legacyException, "  - policyName: require-probes\n    ruleNames: [a]\n", "    []\n", 1), rules(trust.LifetimeConfig{Policies: []string{"a"}, Max: "1h"}), hour},
		{"a policy of the other group", currentException, rules(trust.LifetimeConfig{Policies: []string{"require-probes"}, Max: "1h"}), hour},
		{"a policy in a namespace", currentException, rules(trust.LifetimeConfig{Policies: []string{"shop/require-probes"}, Max: "1h"}), all},
		{"a policy in any namespace", anywhere, rules(trust.LifetimeConfig{Policies: []string{"shop/require-probes"}, Max: "1h"}), hour},
		{"another policy in any namespace", anywhere, rules(trust.LifetimeConfig{Policies: []string{"shop/a"}, Max: "1h"}), all},
		{"a kind of policy that cannot be read", strings.Replace(currentException, "kind: ValidatingPolicy", "kind: [NamespacedValidatingPolicy]", 1), rules(trust.LifetimeConfig{Policies: []string{"shop/require-probes"}, Max: "1h"}), hour},
		{"a kind without policies", configMap, rules(trust.LifetimeConfig{Policies: []string{"*"}, Max: "1h"}), all},
		{"its namespace", legacyException, rules(trust.LifetimeConfig{Namespaces: []string{"exc*"}, Max: "1h"}), hour},
		{"another namespace", legacyException, rules(trust.LifetimeConfig{Namespaces: []string{"a"}, Max: "1h"}), all},
		{"a namespace that it does not say", configMap, rules(trust.LifetimeConfig{Namespaces: []string{"a"}, Max: "1h"}), hour},
		{"its kind", configMap, rules(trust.LifetimeConfig{Kinds: []string{"ConfigMap"}, Max: "1h"}), hour},
		{"another kind", legacyException, rules(trust.LifetimeConfig{Kinds: []string{"ConfigMap"}, Max: "1h"}), all},
		{"two selectors", legacyException, rules(trust.LifetimeConfig{Policies: []string{"require-*"}, Namespaces: []string{"exceptions"}, Max: "1h"}), hour},
		{"two selectors, one of another", legacyException, rules(trust.LifetimeConfig{Policies: []string{"require-*"}, Namespaces: []string{"a"}, Max: "1h"}), all},
		{"two rules", legacyException, rules(trust.LifetimeConfig{Policies: []string{"*"}, Max: "1h"}, trust.LifetimeConfig{Namespaces: []string{"*"}, Max: "2h"}), hour},
		{"two rules in the other order", legacyException, rules(trust.LifetimeConfig{Namespaces: []string{"*"}, Max: "2h"}, trust.LifetimeConfig{Policies: []string{"*"}, Max: "1h"}), hour},
		{"longer than the maximum of all", legacyException, rules(trust.LifetimeConfig{Policies: []string{"*"}, Max: "52w"}), all},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := policy()
			config.MaxLifetime, config.Lifetimes = "90d", tc.rules
			p, err := trust.New(config, root(t))
			if err != nil {
				t.Fatal(err)
			}
			longest, ends := p.MaxLifetime(scope(t, tc.yaml))
			speaks := tc.want != all || tc.rules != nil && tc.rules[0].Max == "52w"
			if longest != tc.want || ends != speaks {
				t.Errorf("%s, ends %t; want %s", longest, ends, tc.want)
			}
		})
	}
	for want, rule := range map[string]trust.LifetimeConfig{
		"applies to every document": {Max: "1h"},
		"max":                       {Policies: []string{"a"}},
		"max:":                      {Policies: []string{"a"}, Max: "0h"},
		"policies: an empty":        {Policies: []string{}, Max: "1h"},
		"namespaces":                {Namespaces: []string{"A"}, Max: "1h"},
		"kinds":                     {Kinds: []string{"configmap"}, Max: "1h"},
	} {
		config := policy()
		config.Lifetimes = rules(rule)
		if _, err := trust.New(config, root(t)); err == nil || !strings.Contains(err.Error(), "lifetimes 1: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", rule, err)
		}
	}
}
