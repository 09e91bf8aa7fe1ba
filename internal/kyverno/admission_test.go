package kyverno_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

func quoted(text string) string { return strconv.Quote(text) }

var admitted = []string{
	"require-probes Deployment/kyverno-admission-controller", "require-probes Pod/kyverno-admission-controller-*",
}

// TestAdmissions: in the namespace kyverno, exactly the entries of the configuration are admitted.
func TestAdmissions(t *testing.T) {
	filter := func(kind, name, namespace string) string {
		return matching("{any: [{resources: {kinds: [" + kind + "], names: [" + name + "], namespaces: [" + namespace + "]}}]}")
	}
	condition := func(text string) string { return conditional("[{name: a, expression: " + quoted(text) + "}]") }
	const deployment = "object.kind == 'Deployment' && object.metadata.name == 'kyverno-admission-controller' && object.metadata.namespace == "
	for text, want := range map[string]bool{
		filter("Deployment", "kyverno-admission-controller", "kyverno"):         false,
		filter("Deployment", "kyverno-admission-controller", "kyverno, team-a"): false,
		filter("Pod", "'kyverno-admission-controller-*'", "kyverno"):            false,
		condition(deployment + "'kyverno'"):                                     false,
		condition("object.kind == 'Pod' && object.metadata.name.startsWith('kyverno-admission-controller-') && object.metadata.namespace == 'kyverno'"): false,
		// Another kind, name or policy, and all combinations.
		filter("StatefulSet", "kyverno-admission-controller", "kyverno"):                                                                                                          true,
		filter("apps/v1/Deployment", "kyverno-admission-controller", "kyverno"):                                                                                                   true,
		filter("Deployment", "kyverno-cleanup-controller", "kyverno"):                                                                                                             true,
		filter("Deployment", "kyverno-admission-controller, kyverno-cleanup-controller", "kyverno"):                                                                               true,
		filter("Deployment", "'kyverno-*'", "kyverno"):                                                                                                                            true,
		filter("Deployment, Pod", "kyverno-admission-controller", "kyverno"):                                                                                                      true,
		filter("Pod", "kyverno-admission-controller-0", "kyverno"):                                                                                                                true,
		strings.Replace(filter("Deployment", "kyverno-admission-controller", "kyverno"), "require-probes", "other", 1):                                                            true,
		strings.Replace(filter("Deployment", "kyverno-admission-controller", "kyverno"), "exceptions: [", "exceptions: [{policyName: other, ruleNames: [a]}, ", 1):                true,
		matching("{any: [{resources: {kinds: [Deployment], namespaces: [kyverno]}}]}"):                                                                                            true,
		matching("{any: [{resources: {names: [kyverno-admission-controller], namespaces: [kyverno]}}]}"):                                                                          true,
		matching("{any: [{resources: {kinds: [Deployment], names: [kyverno-admission-controller], namespaces: [kyverno]}}, {resources: {kinds: [Pod], namespaces: [kyverno]}}]}"): true,
		condition("object.kind == 'Deployment' && object.metadata.namespace == 'kyverno'"):                                                                                        true,
		condition(deployment + "'kyverno' || object.metadata.namespace == 'kyverno'"):                                                                                             true,
		condition(deployment + "'kyverno' && has(object.spec.x)"):                                                                                                                 true, // not a plain match
		// polex-system and patterns are never admitted.
		filter("Deployment", "kyverno-admission-controller", "polex-system"):          true,
		filter("Deployment", "kyverno-admission-controller", "kyverno, polex-system"): true,
		filter("Deployment", "kyverno-admission-controller", "'kyv*'"):                true,
		filter("Deployment", "kyverno-admission-controller", "'*'"):                   true,
		condition(deployment + "'polex-system'"):                                      true,
	} {
		guard := must.Get(kyverno.Guard{}.Admitting(admitted))(t)
		doc, ordinary := document(t, text), policySet(t, clusterPolicy("{resources: {kinds: [Deployment, Pod]}}"), validatingPolicy("ValidatingPolicy", onPods))
		expect.Is(t, text+"\nreaches", want, kyverno.ReachesGuard(doc, guard.Knowing(ordinary)).Reaches())
		expect.That(t, kyverno.ReachesGuard(doc, guard).Reaches(), "%s\nis admitted where no policy is known", text)
		expect.That(t, kyverno.ReachesGuard(doc, kyverno.Guard{}.Knowing(ordinary)).Reaches(),
			"%s\nis admitted where nothing is listed", text)
		// The policy has to be ordinary and must not name Kyverno.
		for _, match := range []string{"{resources: {kinds: [Deployment, Pod]}}, verifyImages: [{imageReferences: ['ghcr.io/kyverno/*']}]", "{resources: {kinds: ['*']}}", "{resources: {kinds: [Deployment], namespaces: [kyverno]}}", "{resources: {kinds: [Deployment], namespaces: ['kyv*']}}", "{resources: {kinds: [kyverno.io/v1/ClusterPolicy]}}"} {
			cel := validatingPolicy("ValidatingPolicy", strings.TrimSuffix(onPods, "]")+", {apiGroups: [kyverno.io], apiVersions: [v1], operations: [CREATE], resources: [clusterpolicies]}]")
			expect.That(t, kyverno.ReachesGuard(doc, guard.Knowing(policySet(t, clusterPolicy(match), cel))).Reaches(),
				"%s\nis admitted from the policy for %s", text, match)
		}
		expect.That(t, kyverno.ReachesGuard(doc, guard.Knowing(policySet(t))).Reaches(),
			"%s\nis admitted from a policy that is not known", text)
		if own, err := kyverno.NewGuard(nil, []string{"kyverno"}); err != nil {
			t.Fatal(err)
		} else if own, err = own.Admitting(admitted); err != nil || !kyverno.ReachesGuard(doc, own.Knowing(ordinary)).Reaches() {
			t.Errorf("%s\nis admitted in a namespace of the guard: %v", text, err)
		}
	}
}

// TestNotAdmissions: an entry that cannot be admitted is an error of the configuration.
func TestNotAdmissions(t *testing.T) {
	guard := must.Get(kyverno.NewGuard([]string{"protect-*"}, nil))(t)
	for _, entry := range []string{
		"", "a", "a Pod", "a Pod/", "a /b", " Pod/b", "a Pod b", "a  Pod/b", "a Pod/b ", "a Pod/b c", "a\tPod/b", "a Pod/\u2003b",
		"polex-verify Pod/b", "protect-exceptions Pod/b", "Protect-exceptions Pod/b",
		"a* Pod/b", "team/a Pod/b", "a P*/b", "a Deploy*/b", "a */b", "a PolicyException/b",
		"a policies.kyverno.io/v1/PolicyException/b", "a Namespace/kyverno", "a Pod/*", "a Pod/?b",
	} {
		_, err := guard.Admitting([]string{admitted[0], entry})
		expect.That(t, err != nil, "%q is admitted", entry)
	}
}
