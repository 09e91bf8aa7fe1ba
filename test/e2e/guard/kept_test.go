//go:build e2e

package guard

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// TestKeptByKyverno: Kyverno still applies a deleted exception from a NamespacedValidatingPolicy, until
// that policy changes. The guard says so when it deletes one, and polex-guard check says it before.
func TestKeptByKyverno(t *testing.T) {
	ns := namespace(t)
	policy := "/apis/policies.kyverno.io/v1beta1/namespaces/" + ns + "/namespacedvalidatingpolicies"
	post(t, policy, []byte(`{apiVersion: policies.kyverno.io/v1beta1, kind: NamespacedValidatingPolicy,
  metadata: {name: kept}, spec: {validationActions: [Deny],
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]},
  validations: [{expression: "object.metadata.name != 'web'", message: denied by kept}]}}`)).want(t, http.StatusCreated)
	deleteAfter(t, policy+"/kept")
	denied := func(ctx context.Context) (bool, error) {
		answer, err := live.Post(ctx, "/api/v1/namespaces/"+ns+"/configmaps?dryRun=All",
			[]byte(`{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}`))
		return err == nil && strings.Contains(answer.Message(), "denied by kept"), err
	}
	until := func(what string, want bool) {
		t.Helper()
		until(t, what, func(ctx context.Context) error {
			is, err := denied(ctx)
			if err == nil && is != want {
				err = fmt.Errorf("denied: %t", is)
			}
			return err
		})
	}
	touch := func(value string) {
		t.Helper()
		merge(t, policy+"/kept", `{"metadata":{"labels":{"touched":"`+value+`"}}}`).want(t, http.StatusOK)
	}
	until("Kyverno to apply the policy", true)
	i := settings{}.run(t)
	i.register(t)
	target := cluster.Target{Group: "policies.kyverno.io", Version: "v1beta1", Namespace: ns}
	text := strings.Replace(draft{name: "e", namespace: ns, policy: "kept", lives: 20 * time.Second}.in(target), "kind: ValidatingPolicy", "kind: NamespacedValidatingPolicy", 1)
	sealed := seal(t, text)[0]
	create(t, target, sealed).want(t, http.StatusCreated)
	if got, _ := i.diagnosed(t, live.Kubeconfig()); !slices.Contains(got, "kept-by-kyverno") {
		t.Errorf("check says %q", got)
	}
	touch("a")
	until("Kyverno to apply the exception", false)
	i.until(t, "the guard to say it", contains(eventsOf(ns), "Kyverno may still apply it"))
	if is, err := denied(t.Context()); is || err != nil {
		t.Errorf("Kyverno forgets a deleted exception; the warnings can go: %v", err)
	}
	touch("b")
	until("Kyverno to forget the exception", true)
}

// The policies from which Kyverno generates ValidatingAdmissionPolicies.
const (
	compiled = `{apiVersion: policies.kyverno.io/v1beta1, kind: ValidatingPolicy, metadata: {name: %s}, spec: {
  autogen: {validatingAdmissionPolicy: {enabled: true}, podControllers: {controllers: []}}, validationActions: [Deny],
  matchConstraints: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: nowhere}},
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]},
  validations: [{expression: "false"}]}}`
	legacyCompiled = `{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: %s}, spec: {rules: [{name: check,
  match: {any: [{resources: {kinds: [ConfigMap], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: nowhere}}}}]},
  validate: {failureAction: Enforce, cel: {generate: true, expressions: [{expression: "false"}]}}}]}}`
)

// TestDroppedPolicy: Kyverno still applies an exception to a policy that an update no longer names. The
// guard rejects such an update, and Kyverno learns of the deletion that the guard asks for.
func TestDroppedPolicy(t *testing.T) {
	for name, tc := range map[string]struct {
		target                   cluster.Target
		policies, policy, prefix string
		wide, narrow             string            // what an exception adds to the generated policy
		scope, both, several     *strings.Replacer // of the draft
	}{
		"conditions": {
			target: served[3], policies: "/apis/policies.kyverno.io/v1beta1/validatingpolicies", policy: compiled, prefix: "vpol-",
			wide: "!(object.metadata.name == 'web')", narrow: "!(object.metadata.name == 'narrower')",
			scope: strings.NewReplacer("'web'", "'narrower'"), both: strings.NewReplacer("[{name: kept,", "[{name: dropped, kind: ValidatingPolicy}, {name: kept,"),
		},
		"match": {
			target: served[0], policies: "/apis/kyverno.io/v1/clusterpolicies", policy: legacyCompiled, prefix: "cpol-",
			wide: `"web"`, narrow: `"narrower"`,
			scope:   strings.NewReplacer("names: [web-*], namespaces: [team-a]", "names: [narrower]"),
			both:    strings.NewReplacer("[{policyName: kept,", "[{policyName: dropped, ruleNames: [check]}, {policyName: kept,", "names: [web-*], namespaces: [team-a]", "names: [web]"),
			several: strings.NewReplacer("names: [web-*], namespaces: [team-a]", "names: [narrower]", "[{policyName: kept,", "[{policyName: dropped, ruleNames: [check, other]}, {policyName: kept,"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			generated := "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/" + tc.prefix
			for _, name := range []string{"kept", "dropped"} {
				post(t, tc.policies, fmt.Appendf(nil, tc.policy, name)).want(t, http.StatusCreated)
				deleteAfter(t, tc.policies+"/"+name)
			}
			target := tc.target
			target.Namespace = namespace(t)
			text := draft{name: "e", namespace: target.Namespace, policy: "kept", kind: "ConfigMap"}.in(target)
			both, fewer := seal(t, tc.both.Replace(text))[0], seal(t, tc.scope.Replace(text))[0]
			update := func(text string) response {
				t.Helper()
				return do(t, cluster.Request{Method: http.MethodPatch, Path: target.Path("e") + "?force=true&fieldManager=test",
					ContentType: "application/apply-patch+yaml", Body: []byte(text)})
			}
			remove := func() {
				t.Helper()
				remove(t, target.Path("e")).want(t, http.StatusOK)
			}
			until := func(what, policy, text string, holds bool) {
				t.Helper()
				until(t, what, func(ctx context.Context) error {
					answer, err := live.Get(ctx, generated+policy)
					if err == nil && (!answer.OK() || bytes.Contains(answer.Body, []byte(text)) != holds) {
						err = fmt.Errorf("%d: %s", answer.Code, answer.Body)
					}
					return err
				})
			}
			create(t, target, both).want(t, http.StatusCreated)
			until("Kyverno to apply it", "dropped", tc.wide, true)
			update(fewer).want(t, http.StatusOK)
			until("Kyverno to apply the new one", "kept", tc.narrow, true)
			remove()
			until("Kyverno to forget the new one", "kept", tc.narrow, false)
			// Another event of that policy, such as an update of its status, makes Kyverno look at it again.
			if err := contains(generated+"dropped", tc.wide)(t.Context()); err != nil {
				t.Logf("Kyverno forgot the policy that an update dropped: %v", err)
			}

			create(t, target, both).want(t, http.StatusCreated)
			until("Kyverno to apply it again", "kept", tc.wide, true)
			settings{}.run(t).register(t)
			update(fewer).refusedFor(t, "drops-policy")
			if tc.several != nil {
				update(seal(t, tc.several.Replace(text))[0]).refusedFor(t, "drops-policy")
			}
			remove()
			until("Kyverno to forget it", "dropped", tc.wide, false)
			create(t, target, fewer).want(t, http.StatusCreated)
			until("Kyverno to apply the new one", "kept", tc.narrow, true)
		})
	}
}
