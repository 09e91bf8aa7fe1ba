//go:build e2e

package guard

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

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
				do(t, cluster.Request{Method: http.MethodPost, Path: tc.policies, Body: fmt.Appendf(nil, tc.policy, name)}).want(t, http.StatusCreated)
				t.Cleanup(func() {
					_, _ = live.Do(context.Background(), cluster.Request{Method: http.MethodDelete, Path: tc.policies + "/" + name})
				})
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
				do(t, cluster.Request{Method: http.MethodDelete, Path: target.Path("e")}).want(t, http.StatusOK)
			}
			until := func(what, policy, text string, holds bool) {
				t.Helper()
				until(t, what, func(ctx context.Context) error {
					answer, err := live.Do(ctx, cluster.Request{Method: http.MethodGet, Path: generated + policy})
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
			if err := contains(t.Context(), generated+"dropped", tc.wide); err != nil {
				t.Errorf("Kyverno forgets the policies that an update drops; the guard need not reject it: %v", err)
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
