package cluster

import (
	"context"
	"fmt"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// Controller is one of Kyverno's that run beside its admission controller.
type Controller struct {
	Kubeconfig string   // as whom it asks; "" for the administrator
	Args       []string // on top of what it needs here
}

// StartCleanupController runs Kyverno's cleanup controller, which deletes what labels
// and cleanup policies say. Cron counts in UTC, as in its images.
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

// StartBackgroundController runs Kyverno's background controller, which generates what
// policies say.
func (c *Cluster) StartBackgroundController(ctx context.Context, k Controller) error {
	free, err := servers.FreePorts(1)
	if err != nil {
		return err
	}
	return c.startController(ctx, "kyverno-background-controller", "background-controller", k,
		"--disableMetrics=true", "--metricsHost=127.0.0.1", fmt.Sprintf("--metricsPort=%d", free[0]), "--controllerRuntimeMetricsAddress=0")
}

// StartReportsController runs Kyverno's reports controller, which writes a PolicyReport
// about what is there and breaks a policy, if that looks at what is there.
func (c *Cluster) StartReportsController(ctx context.Context, k Controller) error {
	free, err := servers.FreePorts(1)
	if err != nil {
		return err
	}
	return c.startController(ctx, "kyverno-reports-controller", "reports-controller", k,
		"--enablePolicyException=true", "--exceptionNamespace=*", "--disableMetrics=true", "--metricsHost=127.0.0.1", fmt.Sprintf("--metricsPort=%d", free[0]))
}

// startController runs a program as the Deployment of that name would.
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
