package cluster

import (
	"context"
	"fmt"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// StartReports runs Kyverno's reports controller outside of the cluster. It writes a
// PolicyReport about what is there and breaks a policy, if that looks at what is
// there.
func (c *Cluster) StartReports(ctx context.Context) error {
	free, err := servers.FreePorts(1)
	if err != nil {
		return err
	}
	return c.group.Run(ctx, servers.Command{
		Program: "reports-controller",
		Args: []string{
			"--kubeconfig=" + c.Kubeconfig(), "--enablePolicyException=true", "--exceptionNamespace=*",
			"--disableMetrics=true", "--metricsHost=127.0.0.1", fmt.Sprintf("--metricsPort=%d", free[0]),
		},
		Env: append([]string{
			"KYVERNO_NAMESPACE=kyverno", "KYVERNO_SERVICEACCOUNT_NAME=kyverno-reports-controller", "KYVERNO_DEPLOYMENT=kyverno-reports-controller",
			"KYVERNO_POD_NAME=kyverno-reports-0", "INIT_CONFIG=kyverno", "METRICS_CONFIG=kyverno-metrics",
		}, c.options.KyvernoEnv...),
	})
}
