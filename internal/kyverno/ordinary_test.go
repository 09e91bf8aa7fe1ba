package kyverno_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// clusterPolicy and validatingPolicy return policies with the name in the exceptions of these tests, and a given match.
func clusterPolicy(match string) string {
	return "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: require-probes}\nspec: {rules: [{name: check, match: " + match + "}]}\n"
}

func validatingPolicy(kind, rules string) string {
	return "apiVersion: policies.kyverno.io/v1\nkind: " + kind + "\nmetadata: {name: require-probes}\nspec: {matchConstraints: {resourceRules: " + rules + "}}\n"
}

const (
	onPods     = "[{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]"
	onAnything = "[{apiGroups: ['*'], apiVersions: ['*'], operations: [CREATE], resources: ['*']}]"
)

func policySet(t testing.TB, policies ...string) *kyverno.PolicySet {
	t.Helper()
	var docs []*exception.Document
	for _, text := range policies {
		docs = append(docs, document(t, text))
	}
	return kyverno.ReadPolicies(docs)
}

func knowing(t testing.TB, policies ...string) kyverno.Guard {
	return kyverno.Guard{}.Knowing(policySet(t, policies...))
}

// ordinaryPolicies are sets of both groups that cannot match exceptions. Those in notOrdinary may.
var (
	ordinaryPolicies = [][]string{
		{clusterPolicy("{any: [{resources: {kinds: [Pod, apps/v1/Deployment]}}]}"), validatingPolicy("ValidatingPolicy", onPods)},
		{clusterPolicy("{resources: {kinds: ['apps/*/*']}}"), validatingPolicy("ValidatingPolicy", "[{apiGroups: ['*'], apiVersions: ['*'], operations: [CREATE], resources: [pods, pods/ephemeralcontainers]}]")},
		{clusterPolicy("{all: [{resources: {kinds: [Pod]}}, {resources: {selector: {matchLabels: {a: b}}}}]}"), validatingPolicy("ValidatingPolicy", "[{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: ['*']}]")},
	}
	notOrdinary = [][]string{
		{}, // unknown
		{strings.Replace(clusterPolicy("{resources: {kinds: [Pod]}}"), "require", "demand", 1), strings.Replace(validatingPolicy("ValidatingPolicy", onPods), "require", "demand", 1)},
		{clusterPolicy("{resources: {kinds: [PolicyException]}}"), validatingPolicy("ValidatingPolicy", "[{apiGroups: [policies.kyverno.io], apiVersions: [v1], operations: [CREATE], resources: [policyexceptions]}]")},
		{clusterPolicy("{resources: {kinds: ['*']}}"), validatingPolicy("ValidatingPolicy", onAnything)},
		{clusterPolicy("{any: [{resources: {kinds: [Pod]}}, {resources: {kinds: ['Policy*']}}]}"), validatingPolicy("ValidatingPolicy", "[{apiGroups: ['*'], apiVersions: [v1], operations: [CREATE], resources: ['*/status']}]")},
		{clusterPolicy("{any: [{resources: {namespaces: [team-a]}}]}"), validatingPolicy("ValidatingPolicy", "[]")},
		{clusterPolicy("{any: [{resources: {kinds: Pod}}]}"), validatingPolicy("ValidatingPolicy", "[{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: pods}]")},
		{clusterPolicy("{any: [{resources: {kinds: ['${KIND}']}}]}"), validatingPolicy("ValidatingPolicy", "[{apiGroups: ['${GROUP}'], apiVersions: [v1], operations: [CREATE], resources: ['${KIND}']}]")},
		{clusterPolicy("{any: [{resources: {kinds: [Pod]}}], all: 7}"), validatingPolicy("ValidatingPolicy", "[{apiGroups: ['', 7], apiVersions: [v1], operations: [CREATE], resources: [pods, 7]}]")},
		{clusterPolicy("{}"), validatingPolicy("ValidatingPolicy", "7")},
		// Namespaces, which have the names of the guard's namespaces.
		{clusterPolicy("{resources: {kinds: [Pod, v1/Name*]}}"), validatingPolicy("ValidatingPolicy", "[{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods, namespaces/status]}]")},
		{clusterPolicy("{resources: {kinds: ['']}}"), validatingPolicy("ValidatingPolicy", "[{apiGroups: ['*'], apiVersions: [v1], operations: [CREATE], resources: ['*']}]")},
		{"apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: require-probes}\nspec: {rules: []}\n"},
		// Several documents of one policy, and policies that Kyverno treats as the same.
		{clusterPolicy("{resources: {kinds: [Pod]}}"), clusterPolicy("{resources: {kinds: ['*']}}"), validatingPolicy("ValidatingPolicy", onPods), validatingPolicy("MutatingPolicy", onAnything)},
		// A policy of the same name and another kind is not the same one.
		{strings.Replace(clusterPolicy("{resources: {kinds: [Pod]}}"), "kind: ClusterPolicy", "kind: Policy", 1), validatingPolicy("ImageValidatingPolicy", onPods)},
		{validatingPolicy("ValidatingPolicy", onPods+"}, targetMatchConstraints: {resourceRules: "+onAnything)},
	}
)

// TestOnlyOrdinaryPoliciesRelax: if a policy may match exceptions or is unknown, the answer is that
// of a guard that knows no policies.
func TestOnlyOrdinaryPoliciesRelax(t *testing.T) {
	for _, policies := range notOrdinary {
		guard := knowing(t, policies...)
		for text := range reachesCases {
			doc := document(t, text)
			if got, want := kyverno.ReachesGuard(doc, guard), kyverno.ReachesGuard(doc, kyverno.Guard{}); !reflect.DeepEqual(got, want) {
				t.Errorf("%s\n%s\n%v, and %v without the policies", policies, text, got, want)
			}
		}
	}
	// One other policy is enough, also by its name.
	for _, other := range []string{"unknown", "polex-verify", "pol*"} {
		text := strings.Replace(conditional("[{name: a, expression: \"object.metadata.labels.app == 'web'\"}]"), "policyRefs: [", "policyRefs: [{name: "+other+", kind: ValidatingPolicy}, ", 1)
		expect.That(t, kyverno.ReachesGuard(document(t, text), knowing(t, ordinaryPolicies[0]...)).Reaches(),
			"%s does not reach", text)
	}
	guarded := must.Get(kyverno.NewGuard([]string{"require-*"}, nil))(t)
	if !kyverno.ReachesGuard(document(t, conditional("[{name: a, expression: \"has(object.spec.x)\"}]")), guarded.Knowing(policySet(t, ordinaryPolicies[0]...))).Reaches() {
		t.Error("a policy that the configuration guards is ordinary")
	}
	// With policies from the pull request, or an incomplete set, no policy is ordinary.
	for name, spoil := range map[string]func(*kyverno.PolicySet){"proposed": func(set *kyverno.PolicySet) { set.Proposed = true }, "incomplete": func(set *kyverno.PolicySet) { set.Incomplete = true }} {
		set := policySet(t, ordinaryPolicies[0]...)
		spoil(set)
		if !kyverno.ReachesGuard(document(t, conditional("[{name: a, expression: \"has(object.spec.x)\"}]")), kyverno.Guard{}.Knowing(set)).Reaches() {
			t.Errorf("a %s policy is ordinary", name)
		}
	}
	// A policy in a namespace is known only there.
	namespaced := strings.Replace(conditional("[{name: a, expression: \"has(object.spec.x)\"}]"), "kind: Val", "kind: NamespacedVal", 1)
	if !kyverno.ReachesGuard(document(t, namespaced), knowing(t, validatingPolicy("NamespacedValidatingPolicy", onPods))).Reaches() {
		t.Error("a namespaced policy is ordinary")
	}
}

// TestOrdinaryPolicies: an exception from ordinary policies may be for any kind, but still not
// reach the objects of the guard.
func TestOrdinaryPolicies(t *testing.T) {
	condition := func(text string) string { return conditional("[{name: a, expression: " + quoted(text) + "}]") }
	for _, policies := range ordinaryPolicies {
		guard := knowing(t, policies...)
		for text, want := range map[string]bool{
			condition("object.metadata.labels.app == 'web'"):                                             false,
			condition("object.spec.hostNetwork"):                                                         false,
			condition("object.kind > 'Pod'"):                                                             false,
			condition("object.metadata.name.find('^web') != ''"):                                         false,
			condition("request.userInfo.username == 'ann'"):                                              false,
			condition("variables.x == 1 && object.metadata.namespace == 'team-a'"):                       false,
			matching("{any: [{resources: {selector: {matchLabels: {app: web}}}}]}"):                      false,
			matching("{any: [{resources: {names: ['a*', 'b*']}}]}"):                                      false,
			matching("{all: [{resources: {selector: {matchLabels: {app: web}}}}, {clusterRoles: [a]}]}"): false,
			// The guard's namespaces, objects and kinds.
			matching("{any: [{resources: {kinds: ['*'], namespaces: [team-a]}}]}"): true,
			condition("object.metadata.namespace == 'kyverno'"):                    true,
			condition("object.metadata.namespace == 'ky' + 'verno'"):               true,
			condition("object.metadata.namespace.endsWith('-system')"):             true,
			condition("request.namespace.matches('^(a|polex-system)$')"):           true,
			condition("namespaceObject.metadata.name > 'a'"):                       true,
			condition("variables.x == 1"):                                          true,
			condition("object.metadata.name == 'polex-guard'"):                     true,
			condition("object.kind == 'PolicyException'"):                          true,
			condition("object.metadata.namespace == r'kyverno'"):                   true,
			conditional("[]"): true,
			conditional("[]\n  allowedValues: [\"a'\"]"):                                                true,
			matching("{any: [{resources: {kinds: ['*']}}]}"):                                            true,
			matching("{any: [{resources: {kinds: [PolicyException]}}]}"):                                true,
			matching("{any: [{resources: {namespaces: ['*']}}]}"):                                       true,
			matching("{any: [{resources: {selector: {matchLabels: {app: web}}, namespaces: [kyv*]}}]}"): true,
			matching("{any: [{resources: {selector: {}}}]}"):                                            true,
			matching("{any: [{}]}"):                                                                     true,
			matching("{any: [{resources: {names: ['polex-guard*']}}]}"):                                 true,
		} {
			expect.Is(t, fmt.Sprintf("%s\n%s", policies, text), want, kyverno.ReachesGuard(document(t, text), guard).Reaches())
		}
	}
}
