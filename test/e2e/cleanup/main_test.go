//go:build e2e

package cleanup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/servers"
)

// live is an API server with Kyverno's definitions, and controller its cleanup
// controller, which all tests of this process share.
var (
	live       *cluster.Cluster
	controller *servers.Group
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "polex-e2e-cleanup-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	if err := start(context.Background(), folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer live.Close()
	defer controller.Stop()
	status := m.Run()
	if status != 0 {
		fmt.Fprintln(os.Stderr, live.Logs(), controller.Logs())
	}
	return status
}

// permission is what docs/lifetimes.md says that Kyverno needs, given to its account
// by name: what puts roles together is a controller that does not run here.
const permission = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: polex-cleanup}
rules:
- apiGroups: [kyverno.io, policies.kyverno.io]
  resources: [policyexceptions]
  verbs: [get, list, watch, delete]
`

const binding = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: polex-cleanup}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: polex-cleanup}
subjects: [{kind: ServiceAccount, name: kyverno-cleanup-controller, namespace: kyverno}]
`

func start(ctx context.Context, folder string) error {
	binaries := fromRoot("bin/e2e")
	var err error
	if live, err = cluster.Start(ctx, cluster.Options{Binaries: binaries, Tools: fromRoot("test/e2e/tools/kyverno"), Dir: folder, WithoutKyverno: true}); err != nil {
		return err
	}
	for path, body := range map[string]string{"clusterroles": permission, "clusterrolebindings": binding} {
		answer, err := live.Do(ctx, cluster.Request{Method: http.MethodPost, Path: "/apis/rbac.authorization.k8s.io/v1/" + path, Body: []byte(body)})
		if err != nil || answer.Code != http.StatusCreated {
			return errors.Join(err, fmt.Errorf("permit Kyverno to delete exceptions: %v", answer))
		}
	}
	free, err := servers.FreePorts(2)
	if err != nil {
		return err
	}
	controller = &servers.Group{Binaries: binaries, Dir: folder}
	if err := controller.Run(ctx, servers.Command{
		Program: "cleanup-controller",
		Args: []string{
			"--kubeconfig=" + live.Kubeconfig(), fmt.Sprintf("--serverIP=127.0.0.1:%d", free[0]),
			"--cleanupServerHost=127.0.0.1", fmt.Sprintf("--cleanupServerPort=%d", free[0]),
			"--caSecretName=kyverno-cleanup-ca", "--tlsSecretName=kyverno-cleanup-tls", "--ttlReconciliationInterval=1s",
			"--disableMetrics=true", "--metricsHost=127.0.0.1", fmt.Sprintf("--metricsPort=%d", free[1]),
		},
		Env: []string{
			"KYVERNO_NAMESPACE=kyverno", "KYVERNO_SERVICEACCOUNT_NAME=kyverno-cleanup-controller", "KYVERNO_DEPLOYMENT=kyverno-cleanup-controller",
			"KYVERNO_POD_NAME=kyverno-cleanup-0", "INIT_CONFIG=kyverno", "METRICS_CONFIG=kyverno-metrics", "POD_IP=127.0.0.1",
			"KYVERNO_SVC=kyverno-cleanup-controller", "TZ=UTC",
		},
	}); err != nil {
		return err
	}
	return ready(ctx)
}

// ready waits until the controller judges policies: one whose schedule has a year is
// taken by none of its checks.
func ready(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	return controller.Until(within, "the cleanup controller's webhook", func(ctx context.Context) error {
		answer, err := live.Do(ctx, cluster.Request{Method: http.MethodPost, Path: policies["ClusterCleanupPolicy"] + "?dryRun=All", Body: []byte(`apiVersion: kyverno.io/v2
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

func fromRoot(path string) string {
	absolute, err := filepath.Abs(filepath.Join("..", "..", "..", filepath.FromSlash(path)))
	if err != nil {
		return path
	}
	return absolute
}
