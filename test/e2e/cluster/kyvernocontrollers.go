package cluster

import (
	"context"
	"fmt"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// Controller configures one of Kyverno's controllers besides the admission controller.
type Controller struct {
	Kubeconfig string   // "" for the administrator
	Args       []string // further arguments
}

// StartCleanupController runs Kyverno's cleanup controller, which deletes objects by labels and
// cleanup policies. Cron counts in UTC, as in Kyverno's images.
func (c *Cluster) StartCleanupController(ctx context.Context, k Controller) error {
	free, err := servers.FreePorts(2)
	if err != nil {
		return err
	}
	const name = "kyverno-cleanup-controller"
	return c.startController(ctx, name, "cleanup-controller", k,
		fmt.Sprintf("--serverIP=127.0.0.1:%d", free[0]), "--cleanupServerHost=127.0.0.1", fmt.Sprintf("--cleanupServerPort=%d", free[0]),
		"--caSecretName="+name+".kyverno.svc.kyverno-tls-ca", "--tlsSecretName="+name+".kyverno.svc.kyverno-tls-pair",
		"--disableMetrics=true", "--metricsHost=127.0.0.1", fmt.Sprintf("--metricsPort=%d", free[1]))
}

// StartBackgroundController runs Kyverno's background controller, which generates objects by
// policies.
func (c *Cluster) StartBackgroundController(ctx context.Context, k Controller) error {
	free, err := servers.FreePorts(1)
	if err != nil {
		return err
	}
	return c.startController(ctx, "kyverno-background-controller", "background-controller", k,
		"--disableMetrics=true", "--metricsHost=127.0.0.1", fmt.Sprintf("--metricsPort=%d", free[0]), "--controllerRuntimeMetricsAddress=0")
}

// StartReportsController runs Kyverno's reports controller, which writes a PolicyReport about
// existing objects that violate a policy with background checks.
func (c *Cluster) StartReportsController(ctx context.Context, k Controller) error {
	free, err := servers.FreePorts(1)
	if err != nil {
		return err
	}
	return c.startController(ctx, "kyverno-reports-controller", "reports-controller", k,
		"--enablePolicyException=true", "--exceptionNamespace=*", "--disableMetrics=true", "--metricsHost=127.0.0.1", fmt.Sprintf("--metricsPort=%d", free[0]))
}

// startController runs a program like the Deployment of that name.
func (c *Cluster) startController(ctx context.Context, name, program string, k Controller, args ...string) error {
	if k.Kubeconfig == "" {
		k.Kubeconfig = c.Kubeconfig()
	}
	return c.Run(ctx, servers.Command{
		Program: program,
		Args:    append(append(args, "--kubeconfig="+k.Kubeconfig), k.Args...),
		Env: append([]string{
			"KYVERNO_NAMESPACE=kyverno", "KYVERNO_SERVICEACCOUNT_NAME=" + name, "KYVERNO_DEPLOYMENT=" + name, "KYVERNO_POD_NAME=" + name + "-0",
			"INIT_CONFIG=kyverno", "METRICS_CONFIG=kyverno-metrics", "POD_IP=127.0.0.1", "KYVERNO_SVC=" + name, "TZ=UTC",
		}, c.options.KyvernoEnv...),
	})
}
