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

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
)

// live is an API server with Kyverno's definitions and its cleanup controller, shared by all tests
// of this process.
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

// binding gives Kyverno's account the role of policies/cleanup. The controller that aggregates
// roles does not run here.
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
		answer, err := live.Do(ctx, cluster.Request{Method: http.MethodPost, Path: "/apis/kyverno.io/v2/clustercleanuppolicies?dryRun=All", Body: []byte(`apiVersion: kyverno.io/v2
kind: ClusterCleanupPolicy
metadata: {name: probe}
spec: {schedule: "0 0 1 1 * 2027", match: {any: [{resources: {kinds: [kyverno.io/v2/PolicyException]}}]}}
`)})
		if err == nil && (answer.OK() || answer.Code == http.StatusInternalServerError) {
			err = errors.New(answer.Message())
		}
		return err
	})
}
