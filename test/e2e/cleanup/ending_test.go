//go:build e2e

package cleanup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// live is an API server with Kyverno's definitions and its cleanup controller, shared by all tests of this process.
var live *cluster.Cluster

func TestMain(m *testing.M) {
	fixture.Main(m, func(ctx context.Context, f *fixture.Fixture) error {
		if err := f.StartCluster(ctx, cluster.Options{WithoutKyverno: true}); err != nil {
			return err
		}
		live = f.Cluster
		return startController(ctx)
	})
}

// binding gives Kyverno's account the role of policies/cleanup. The controller that aggregates roles does not run here.
const binding = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: polex-cleanup}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: polex-cleanup}
subjects: [{kind: ServiceAccount, name: kyverno-cleanup-controller, namespace: kyverno}]
`

func startController(ctx context.Context) error {
	role, err := os.ReadFile(fixture.FromRoot("policies/cleanup/clusterrole.yaml"))
	if err != nil {
		return err
	}
	if err := live.ApplyAll(ctx, append(append(role, "---\n"...), binding...)); err != nil {
		return fmt.Errorf("permit Kyverno to delete exceptions: %w", err)
	}
	if err := live.StartCleanupController(ctx, cluster.Controller{Args: []string{"--ttlReconciliationInterval=1s"}}); err != nil {
		return err
	}
	return ready(ctx)
}

// ready waits until the controller checks policies: it must reject one with a year in its schedule.
func ready(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	return live.Until(within, "the cleanup controller's webhook", func(ctx context.Context) error {
		answer, err := live.Post(ctx, "/apis/kyverno.io/v2/clustercleanuppolicies?dryRun=All", []byte(`apiVersion: kyverno.io/v2
kind: ClusterCleanupPolicy
metadata: {name: probe}
spec: {schedule: "0 0 1 1 * 2027", match: {any: [{resources: {kinds: [kyverno.io/v2/PolicyException]}}]}}
`))
		if err == nil && (answer.OK() || answer.Code == http.StatusInternalServerError) {
			err = errors.New(answer.Message())
		}
		return err
	})
}

// waitLimit is the timeout for expected events; cron has a resolution of minutes.
const waitLimit = 4 * time.Minute

var targets = []cluster.Target{{Group: "kyverno.io", Version: "v2", Namespace: "default"}, {Group: "policies.kyverno.io", Version: "v1", Namespace: "default"}}

// exceptionOf returns an exception with an expiry, in the form of its group.
func exceptionOf(target cluster.Target, name, end, labels string) string {
	if target.Group == exception.PoliciesGroup {
		return fmt.Sprintf(`apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: %s, namespace: default, labels: {%s}}
spec:
  expiresAt: %q
  policyRefs: [{name: require-probes, kind: ValidatingPolicy}]
  matchConditions: [{name: web, expression: object.metadata.name == 'web'}]
`, name, labels, end)
	}
	return fmt.Sprintf(`apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: %s, namespace: default, labels: {%s}, annotations: {polex.dev/expires-at: %q}}
spec:
  exceptions: [{policyName: require-probes, ruleNames: [check]}]
  match: {any: [{resources: {kinds: [Pod], names: [web-*], namespaces: [team-a]}}]}
`, name, labels, end)
}

// store creates an exception.
func store(t *testing.T, target cluster.Target, text string) {
	t.Helper()
	answer, err := live.Create(t.Context(), target, []byte(text))
	if err != nil || answer.Code != http.StatusCreated {
		t.Fatalf("%v, %s\n%s", err, answer.Message(), text)
	}
}

// is returns an error unless an exception exists, or does not exist.
func is(ctx context.Context, target cluster.Target, name string, there bool) error {
	return fixture.Exists(ctx, live, target.Path(name), there)
}

func until(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	fixture.Until(t, live, waitLimit, what, ask)
}

// TestLabel: Kyverno reads the same time in the label as polex.
func TestLabel(t *testing.T) {
	end := time.Now().Add(10 * time.Second)
	for _, target := range targets {
		for name, at := range map[string]time.Time{"label-ended": end, "label-later": end.Add(time.Hour)} {
			text := exceptionOf(target, name, at.UTC().Format(time.RFC3339Nano), exception.LabelTTL+": "+lifetime.FormatTTL(at))
			doc := must.Get(exception.Parse([]byte(text), "exception"))(t)
			must.Get(lifetime.Of(doc, lifetime.Terms{}))(t)
			store(t, target, text)
		}
	}
	for _, target := range targets {
		until(t, "the end", func(ctx context.Context) error { return is(ctx, target, "label-ended", false) })
		if now := time.Now(); now.Before(end) {
			t.Errorf("%s went %s too soon", target.Group, end.Sub(now))
		}
	}
	for _, target := range targets {
		expect.NoError(t, is(t.Context(), target, "label-later", true))
	}
}
