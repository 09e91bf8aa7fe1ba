//go:build e2e

package guard

import (
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
	do(t, cluster.Request{Method: http.MethodPost, Path: policy, Body: []byte(`{apiVersion: policies.kyverno.io/v1beta1, kind: NamespacedValidatingPolicy,
  metadata: {name: kept}, spec: {validationActions: [Deny],
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]},
  validations: [{expression: "object.metadata.name != 'web'", message: denied by kept}]}}`)}).want(t, http.StatusCreated)
	t.Cleanup(func() {
		_, _ = live.Do(context.Background(), cluster.Request{Method: http.MethodDelete, Path: policy + "/kept"})
	})
	denied := func(ctx context.Context) (bool, error) {
		answer, err := live.Do(ctx, cluster.Request{Method: http.MethodPost, Path: "/api/v1/namespaces/" + ns + "/configmaps?dryRun=All",
			Body: []byte(`{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}`)})
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
		do(t, cluster.Request{Method: http.MethodPatch, Path: policy + "/kept", ContentType: "application/merge-patch+json",
			Body: []byte(`{"metadata":{"labels":{"touched":"` + value + `"}}}`)}).want(t, http.StatusOK)
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
	i.until(t, "the guard to say it", func(ctx context.Context) error {
		return contains(ctx, "/apis/events.k8s.io/v1/namespaces/"+ns+"/events", "Kyverno may still apply it")
	})
	if is, err := denied(t.Context()); is || err != nil {
		t.Errorf("Kyverno forgets a deleted exception; the warnings can go: %v", err)
	}
	touch("b")
	until("Kyverno to forget the exception", true)
}
