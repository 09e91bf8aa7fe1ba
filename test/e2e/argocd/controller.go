package argocd

import (
	"context"
	"errors"
	"fmt"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// probe is an Application that is always invalid, because its project does not exist. The
// controller reports that when it works.
const probe = `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: probe, namespace: argocd}
spec:
  project: nobody
  destination: {server: https://kubernetes.default.svc, namespace: default}
  source: {repoURL: https://example.com/probe, path: .}
`

func (a *ArgoCD) startController(ctx, within context.Context) error {
	free, err := servers.FreePorts(1)
	if err != nil {
		return err
	}
	if err := a.Run(ctx, servers.Command{Program: controller, Env: a.env(), Args: []string{
		"--kubeconfig", a.options.Cluster.Kubeconfig(), "--namespace", Namespace,
		"--repo-server", a.repo, "--repo-server-plaintext", "--redis", a.redis, "--metrics-port", fmt.Sprint(free[0]),
		// It repairs differences at once, and checks often.
		"--app-resync", "5", "--app-resync-jitter", "0", "--self-heal-timeout-seconds", "1", "--self-heal-backoff-timeout-seconds", "1",
		"--self-heal-backoff-factor", "1", "--repo-error-grace-period-seconds", "0",
	}}); err != nil {
		return err
	}
	if err := a.options.Cluster.ApplyAll(within, []byte(probe)); err != nil {
		return err
	}
	if err := a.Until(within, "Argo CD", func(ctx context.Context) error {
		found, err := a.Application(ctx, "probe")
		if err == nil && len(found.Conditions) == 0 {
			err = errors.New("the controller has said nothing yet")
		}
		return err
	}); err != nil {
		return err
	}
	return a.Delete(within, "probe")
}
