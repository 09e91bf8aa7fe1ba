package cluster

import (
	"context"
	"strings"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// StartControllers runs some of Kubernetes' own controllers, such as job-controller, which creates
// the Pods of a Job. Nothing runs the Pods.
func (c *Cluster) StartControllers(ctx context.Context, names ...string) error {
	return c.Run(ctx, servers.Command{Program: servers.Kubernetes(c.options.Binaries, "kube-controller-manager"), Args: []string{
		"--kubeconfig=" + c.Kubeconfig(), "--controllers=" + strings.Join(names, ","),
		"--leader-elect=false", "--secure-port=0",
	}})
}
