package cluster

import (
	"context"
	"path/filepath"
)

// aggregator is the controller that puts the rules of roles with a label together.
const aggregator = "clusterrole-aggregation-controller"

// InstallRoles creates the roles that Kyverno's own manifests give to its controllers
// and to people, and has Kubernetes put together those that are made of others.
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
