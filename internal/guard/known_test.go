package guard_test

import (
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
)

// TestKnownPolicies: guard.policies and guard.allowInKyverno determine the result for every signer.
func TestKnownPolicies(t *testing.T) {
	w := inWorld(t)
	read := func(text string) *kyverno.PolicySet {
		doc, err := exception.Parse([]byte(text), "")
		if err != nil {
			t.Fatal(err)
		}
		return kyverno.ReadPolicies([]*exception.Document{doc})
	}
	policies := func(resources string) *kyverno.PolicySet {
		return read("apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: require-probes}\nspec: {matchConstraints: {resourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: [CREATE], resources: [" + resources + "]}]}}\n")
	}
	pods := func(kinds string) *kyverno.PolicySet {
		return read("apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: require-probes}\nspec: {rules: [{name: check, match: {any: [{resources: {kinds: [" + kinds + "]}}]}}]}\n")
	}
	label := w.sealed(t, conditional("object.metadata.labels.app == 'web'"), now.Add(-time.Minute))
	own := w.sealed(t, strings.Replace(draft("a", "exceptions", hour, ""), "names: [web-*], namespaces: [team-a]", "names: [kyverno-0], namespaces: [kyverno]", 1), now.Add(-time.Minute))
	admitting := guard.Settings{AllowInKyverno: []string{"require-probes Pod/kyverno-0"}}
	for name, tc := range map[string]struct {
		object   object
		settings guard.Settings
		known    *kyverno.PolicySet
		want     string
	}{
		"no policies known":              {object: label, want: "reaches-guard"},
		"another policy known":           {object: label, known: kyverno.ReadPolicies(nil), want: "reaches-guard"},
		"a policy for Pods":              {object: label, known: policies("pods"), want: "verified"},
		"a policy for anything":          {object: label, known: policies("'*'"), want: "reaches-guard"},
		"a policy for Pods that guards":  {object: label, known: policies("pods"), settings: guard.Settings{GuardPolicies: []string{"require-probes"}}, want: "reaches-guard"},
		"in kyverno, not admitted":       {object: own, known: pods("Pod"), want: "reaches-guard"},
		"in kyverno, admitted":           {object: own, settings: admitting, known: pods("Pod"), want: "verified"},
		"in kyverno, no policies known":  {object: own, settings: admitting, want: "reaches-guard"},
		"in kyverno, another group":      {object: own, settings: admitting, known: policies("pods"), want: "reaches-guard"},
		"in kyverno, any kind":           {object: own, settings: admitting, known: pods("'*'"), want: "reaches-guard"},
		"in kyverno, where the guard is": {object: own, settings: guard.Settings{AllowInKyverno: admitting.AllowInKyverno, GuardNamespaces: []string{"kyverno"}}, known: pods("Pod"), want: "reaches-guard"},
	} {
		t.Run(name, func(t *testing.T) {
			h := handler(t, w.rules(t, tc.settings, nil).WithPolicies(tc.known), guard.Config{})
			response, answer := post(t, h, body(t, request(t, admissionv1.Create, asJSON(t, tc.object), nil)))
			if response == nil {
				t.Fatalf("%d %s", answer.Code, answer.Body)
			}
			if got := reasonOf(t, response); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}
