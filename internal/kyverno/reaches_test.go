package kyverno_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// legacy and conditional are exceptions that do not reach the guard, except for the inserted spec or match conditions.
const (
	legacyHead  = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: a, namespace: b}\n"
	legacyMatch = "  match: {any: [{resources: {kinds: [Pod], names: [web], namespaces: [team-a]}}]}\n"
	celHead     = "apiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata: {name: a, namespace: b}\n"
)

func from(rules string) string {
	return legacyHead + "spec:\n  exceptions: [{policyName: require-probes, ruleNames: [check]}" + rules + "]\n" + legacyMatch
}

func matching(match string) string {
	return legacyHead + "spec:\n  exceptions: [{policyName: require-probes, ruleNames: [check]}]\n  match: " + match + "\n"
}

func conditional(conditions string) string {
	return celHead + "spec:\n  policyRefs: [{name: require-probes, kind: ValidatingPolicy}]\n  matchConditions: " + conditions + "\n"
}

func document(t testing.TB, text string) *exception.Document {
	t.Helper()
	return must.Get(exception.NewReader(strings.NewReader(text), "a.yaml").Large().Next())(t)
}

func reaches(t testing.TB, text string) bool {
	t.Helper()
	verdict := kyverno.ReachesGuard(document(t, text), kyverno.Guard{})
	if ways := verdict.Ways(); (len(ways) > 0) != verdict.Reaches() || len(ways) > 200 {
		t.Errorf("%d ways, and Reaches is %t", len(ways), verdict.Reaches())
	}
	return verdict.Reaches()
}

// reachesCases are exceptions, and whether they reach a guard that knows no policies.
var reachesCases = map[string]bool{
	from(""): false,
	from(", {policyName: polex-verify, ruleNames: [check]}"):   true,
	from(", {policyName: validate-polex, ruleNames: [check]}"): true,
	from(", {policyName: kyverno/any, ruleNames: [check]}"):    true,
	from(", {policyName: 'pol*', ruleNames: [check]}"):         true,
	from(", {policyName: team-a/other, ruleNames: [check]}"):   false,
	// Values that cannot be read.
	from(", {policyName: 7}"):                              true,
	from(", {policyName: [polex-verify]}"):                 true,
	from(", {ruleNames: [check]}"):                         true,
	from(", polex-verify"):                                 true,
	legacyHead + "spec: {exceptions: polex-verify}\n":      true,
	legacyHead + "spec: [polex-verify]\n":                  true,
	matching("{any: {resources: {kinds: [Pod]}}}"):         true,
	matching("{any: [Pod]}"):                               true,
	matching("[Pod]"):                                      true,
	matching("{any: [{resources: [Pod]}]}"):                true,
	matching("{any: [{resources: {kinds: Pod}}]}"):         true,
	matching("{any: [{resources: {kinds: [Pod, 3]}}]}"):    true,
	matching("{any: [{resources: {namespaces: {a: b}}}]}"): true,
	matching("{all: [{resources: {names: web}}]}"):         true,
	matching("{all: [{resources: {name: [web]}}]}"):        true,
	// The match of kyverno.io.
	matching("{any: [{resources: {kinds: [Pod], namespaces: [team-a]}}, {resources: {kinds: ['*']}}]}"): true,
	matching("{any: [{resources: {kinds: [kyverno.io/v2/PolicyException]}}]}"):                          true,
	matching("{any: [{resources: {kinds: [policyexceptions]}}]}"):                                       true, // in no form of Kyverno
	matching("{any: [{resources: {kinds: [kyverno.io/v2/polex]}}]}"):                                    true,
	matching("{any: [{resources: {kinds: [a/b/c/d/PolicyException]}}]}"):                                true,
	matching("{any: [{resources: {kinds: [Pod.policyexception]}}]}"):                                    true,
	matching("{any: [{resources: {kinds: [PolicyExceptional]}}]}"):                                      false,
	matching("{all: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Policy*]}}]}"):                   true,
	matching("{any: [{resources: {kinds: [apps/*/Deployment, Pod/exec, v1/Pod]}}]}"):                    false,
	matching("{any: [{resources: {kinds: ['*/*/*.*']}}]}"):                                              true,
	matching("{any: [{resources: {kinds: ['*/*/*.*.*', '*/*/*/*/*', '*.*.*.*.*']}}]}"):                  false, // Kyverno matches nothing with five parts
	matching("{any: [{resources: {namespaces: [team-a, kyver*]}}]}"):                                    true,
	matching("{any: [{resources: {kinds: [Namespace], names: [kyverno]}}]}"):                            true,
	matching("{any: [{resources: {kinds: [v1/Namespace/status], names: [kyverno]}}]}"):                  true,
	matching("{any: [{resources: {kinds: ['*/Namespace.finalize'], names: [kyverno]}}]}"):               true,
	matching("{any: [{resources: {kinds: [apps/Namespace/status], names: [kyverno]}}]}"):                false, // the group apps and the version Namespace
	matching("{any: [{resources: {names: [kyverno]}}]}"):                                                true,  // a Namespace may have this name
	matching("{any: [{resources: {names: [kyverno], namespaces: [team-a]}}]}"):                          false,
	matching("{all: [{resources: {kinds: [Deployment]}}, {resources: {names: [kyverno]}}]}"):            false,
	matching("{any: [{resources: {namespaces: [argocd]}}]}"):                                            false, // as in many public exceptions
	matching("{any: [{resources: {kinds: [Pod], selector: {matchLabels: {a: b}}}}]}"):                   false,
	// Labels with the name of a namespace.
	matching("{any: [{resources: {kinds: [Deployment], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: polex-system}}}}]}"):                                        true,
	matching("{any: [{resources: {namespaceSelector: {matchLabels: {'kubernetes.io/*': 'kyv*'}}}}]}"):                                                                             true,
	matching("{any: [{resources: {kinds: [Deployment], namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [team-a, kyverno]}]}}}]}"): true,
	matching("{any: [{resources: {kinds: [Deployment], namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [team-a]}]}}}]}"):          false,
	matching("{any: [{resources: {kinds: [Deployment], namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kyverno]}]}}}]}"):      false,
	matching("{any: [{resources: {kinds: [Namespace], selector: {matchLabels: {kubernetes.io/metadata.name: kyverno}}}}]}"):                                                       true,
	matching("{any: [{resources: {kinds: [Pod], selector: {matchLabels: {kubernetes.io/metadata.name: kyverno}}}}]}"):                                                             false,
	matching("{any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {team: a}}}}]}"):                                                                                 false,
	matching("{any: [{resources: {kinds: [Pod], namespaceSelector: [a]}}]}"):                                                                                                      true,
	matching("{any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: 7}}}}]}"):                                                          true,
	matching("{}"): false, // it exempts nothing
	// Filters that require no kind, namespace or whole name.
	matching("{any: [{resources: {kinds: [Pod]}}, {}]}"):                                                                                          true,
	matching("{any: [{clusterRoles: [cluster-admin]}]}"):                                                                                          true,
	matching("{any: [{resources: {operations: [CREATE]}}]}"):                                                                                      true,
	matching("{any: [{resources: {annotations: {a: b}}}]}"):                                                                                       true,
	matching("{any: [{resources: {selector: {matchLabels: {app: web}}}}]}"):                                                                       true,
	matching("{any: [{resources: {namespaceSelector: {matchLabels: {team: a}}}}]}"):                                                               true,
	matching("{any: [{resources: {namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [a]}]}}}]}"): true,
	matching("{any: [{resources: {names: ['a*', 'b*']}}]}"):                                                                                       true,
	matching("{any: [{resources: {names: [web, 'a*']}}]}"):                                                                                        true,
	matching("{any: [{resources: {name: 'a?'}}]}"):                                                                                                true,
	matching("{any: [{resources: {names: [web]}}]}"):                                                                                              false, // polex-guard verifies an exception of that name
	matching("{all: [{resources: {selector: {matchLabels: {app: web}}}}, {clusterRoles: [a]}]}"):                                                  true,
	matching("{all: [{resources: {selector: {matchLabels: {app: web}}}}, {resources: {kinds: [Pod]}}]}"):                                          false,
	matching("{any: [{resources: {namespaces: ['']}}]}"):                                                                                          true, // cluster-scoped objects
	// The guard's own objects.
	matching("{any: [{resources: {kinds: [ClusterRole], names: [polex-guard]}}]}"):                      true,
	matching("{any: [{resources: {kinds: [Secret], names: ['Polex-Guard-*']}}]}"):                       true,
	matching("{any: [{resources: {kinds: [Deployment], name: '*-guard'}}]}"):                            true,
	matching("{any: [{resources: {kinds: [Secret], names: ['?olex-guard-tls']}}]}"):                     true,
	matching("{any: [{resources: {kinds: [Role], names: ['?olex-guard-reader']}}]}"):                    true,
	matching("{any: [{resources: {kinds: [Secret], names: ['*-tls']}}]}"):                               true,
	matching("{any: [{resources: {kinds: [Secret], names: ['*-tls'], namespaces: [team-a]}}]}"):         false,
	matching("{any: [{resources: {kinds: [Secret], names: ['p*-policies']}}]}"):                         true,
	matching("{any: [{resources: {kinds: [Secret], names: ['p*-exporter', '?olex-*']}}]}"):              true,
	matching("{any: [{resources: {kinds: [Secret], names: ['p*-exporter', '?olex-gua']}}]}"):            false,
	matching("{all: [{resources: {kinds: [Deployment]}}, {resources: {names: [polex-guard]}}]}"):        true,
	matching("{any: [{resources: {kinds: [Deployment], names: [polex-guard], namespaces: [team-a]}}]}"): false,
	matching("{any: [{resources: {kinds: [DaemonSet], names: ['*-exporter', 'prometheus-*', '*']}}]}"):  false,
	// The conditions of policies.kyverno.io; conditions_test.go has more.
	conditional("[]"):                         true,
	conditional("[]\n  images: [busybox]"):    false, // the policy has to read them
	conditional("[]\n  allowedValues: [FOO]"): false,
	// Texts that would end the literal in a policy that Kyverno generates.
	conditional("[]\n  allowedValues: [\"a', string(object.spec.x), '\"]"):                                                            true,
	conditional("[{name: a, expression: \"object.kind == 'Pod' && object.metadata.namespace == 'team-a'\"}]\n  images: [\"a', 'b\"]"): true,
	conditional("[]\n  allowedValues: ['a\\']"):                                                                                       true,
	conditional("[]\n  images: []"):                                                                                                   true,
	conditional("[]\n  images: busybox"):                                                                                              true,
	strings.Replace(conditional("[]\n  images: [busybox]"), "kind: Val", "kind: ImageVal", 1):                                         true, // some versions exempt the whole resource
	strings.Replace(conditional("[]\n  images: [busybox]"), "kind: ValidatingPolicy", "kind: [a]", 1):                                 true,
	conditional("[{name: a, expression: 7}]"):                                                                                         true,
	conditional("[a]"):       true,
	conditional("{name: a}"): true,
	conditional("[{name: a, expression: object.kind == 'Pod'}, {name: b, expression: has(object.spec.x)}]"):                          true, // see conditions.go
	conditional("[{name: a, expression: object.kind == 'Pod'}, {name: b, expression: \"true\"}]"):                                    true,
	conditional("[{name: a, expression: object.kind == 'Pod'}, {name: b, expression: object.metadata.labels.a == 'b'}]"):             true,
	conditional("[{name: a, expression: object.kind == 'Pod'}, {name: b, expression: object.metadata.namespace > 'k'}]"):             true,
	conditional("[{name: a, expression: \"object.metadata.namespace in ['x', 'y']\"}, {name: b, expression: object.kind > 'Pod'}]"):  true,
	conditional("[{name: a, expression: \"object.metadata.namespace in ['x', 'y']\"}, {name: b, expression: object.kind == 'Pod'}]"): false,
	conditional("[" + strings.Repeat("{name: a, expression: object.kind == 'Pod'}, ", 64) + "]"):                                     false,
	conditional("[" + strings.Repeat("{name: a, expression: object.kind == 'Pod'}, ", 65) + "]"):                                     true,
	celHead + "spec: {policyRefs: [{name: polex-verify, kind: ValidatingPolicy}]}\n":                                                 true,
	celHead + "spec: {policyRefs: [{kind: ValidatingPolicy}]}\n":                                                                     true,
	celHead + "spec: {policyRefs: {name: polex-verify}}\n":                                                                           true,
	// Other kinds, and none.
	"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n": true,
}

func TestReachesGuard(t *testing.T) {
	for text, want := range reachesCases {
		expect.Is(t, fmt.Sprintf("%s\nreaches", text), want, reaches(t, text))
	}
	expect.That(t, (kyverno.Verdict{}).Ways() != nil && (kyverno.Verdict{}).Reaches(),
		"the zero verdict does not reach")
}

// TestNothingHidesIt: other findings do not hide that an exception reaches the guard.
func TestNothingHidesIt(t *testing.T) {
	for _, n := range []int{0, 1, 199, 200, 201, 5000} {
		stars, unread := "["+strings.Repeat("'*', ", n)+"'*']", strings.Repeat(", {policyName: other, ruleNames: 7}", n)
		kinds := "[" + strings.Repeat("'*/*/*/*/*', ", n) + "PolicyException]"
		for _, text := range []string{
			from(", {policyName: polex-verify, ruleNames: " + stars + "}"),
			from(unread + ", {policyName: polex-verify, ruleNames: [check]}"),
			matching("{any: [{resources: {kinds: " + kinds + "}}]}"),
			celHead + "spec:\n  policyRefs: [" + strings.Repeat("{name: '*'}, ", n) + "{name: polex-verify}]\n",
		} {
			expect.That(t, reaches(t, text), "%d of something hide it", n)
		}
	}
}

// TestGuardIsAddedTo: a configuration adds guarded names.
func TestGuardIsAddedTo(t *testing.T) {
	guard := must.Get(kyverno.NewGuard([]string{"require-*"}, []string{"team-?"}))(t)
	own := matching("{any: [{resources: {kinds: [Pod], namespaces: [kyverno]}}]}")
	for text, of := range map[string]string{
		from(""): "require-*",
		strings.Replace(from(""), "require-probes", "polex-verify", 1):                                              "polex-*",
		strings.Replace(from(""), "require-probes", "other", 1):                                                     "team-?",
		strings.Replace(conditional("[{expression: object.metadata.namespace == 'team-a'}]"), "require-", "", 1):    "team-?",
		strings.Replace(conditional("[{expression: \"request.namespace.startsWith('tea')\"}]"), "require-", "x", 1): "namespace",
		strings.Replace(own, "require-probes", "other", 1):                                                          "kyverno",
	} {
		verdict := kyverno.ReachesGuard(document(t, text), guard)
		if !verdict.Reaches() || !strings.Contains(verdict.Ways()[0].Message, of) {
			t.Errorf("%s\n%t %v", text, verdict.Reaches(), verdict.Ways())
		}
	}
	for _, pattern := range []string{"", "*", "?*"} {
		_, err := kyverno.NewGuard([]string{pattern}, nil)
		expect.That(t, err != nil, "the policy %q is guarded", pattern)
		_, err = kyverno.NewGuard(nil, []string{pattern})
		expect.That(t, err != nil, "the namespace %q is guarded", pattern)
	}
}

// TestHostileSizes: a long or deep exception takes little time and reaches the guard. The test has
// no clock, because minutes would be noticed.
func TestHostileSizes(t *testing.T) {
	const plain = "object.kind == 'Pod'"
	nested := func(n int) string { return strings.Repeat("(", n) + plain + strings.Repeat(")", n) }
	for expression, want := range map[string]bool{
		nested(15):   false,
		nested(16):   true,
		nested(5000): true,
		plain + strings.Repeat(" ", 10_240-len(plain)):                                   false,
		plain + strings.Repeat(" ", 10_241-len(plain)):                                   true,
		strings.Repeat("object.kind == 'Pod' && ", 400) + plain:                          false,
		strings.Repeat("object.kind == 'Pod' || ", 400) + plain:                          false,
		strings.Repeat("true ? ", 1000) + "true" + strings.Repeat(": true", 1000):        true,
		strings.Repeat("(object.kind == 'Pod' || request.name == 'a') && ", 180) + plain: false,
		strings.Repeat("object.", 1400) + "x":                                            true,
		"object.kind in ['Pod'" + strings.Repeat(", 'a'", 2000) + "]":                    false,
	} {
		expect.Is(t, fmt.Sprintf("%.60s… (%d bytes): reaches", expression, len(expression)),
			want, reachesBy(t, expression))
	}
}

func reachesBy(t testing.TB, expressions ...string) bool {
	t.Helper()
	conditions := make([]any, len(expressions))
	for i, e := range expressions {
		conditions[i] = map[string]any{"name": fmt.Sprint("c", i), "expression": e}
	}
	doc := must.Get(exception.FromObject(map[string]any{
		"apiVersion": "policies.kyverno.io/v1", "kind": "PolicyException", "metadata": map[string]any{"name": "a", "namespace": "b"},
		"spec": map[string]any{"policyRefs": []any{map[string]any{"name": "require-probes", "kind": "ValidatingPolicy"}}, "matchConditions": conditions},
	}))(t)
	return kyverno.ReachesGuard(doc, kyverno.Guard{}).Reaches()
}
