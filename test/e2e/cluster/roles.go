package cluster

import (
	"context"
	"path/filepath"
)

// aggregator is the controller that combines the rules of labelled roles.
const aggregator = "clusterrole-aggregation-controller"

// InstallRoles creates the roles in Kyverno's manifests for its controllers and for users, and runs
// the aggregation of roles.
func (c *Cluster) InstallRoles(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	source, err := KyvernoSource(within, c.options.Tools)
	if err != nil {
		return err
	}
	for _, kind := range []string{"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"} {
		if err := c.createAll(within, filepath.Join(source, "config", "install-latest-testing.yaml"), kind); err != nil {
			return err
		}
	}
	return c.StartControllers(ctx, aggregator)
}
