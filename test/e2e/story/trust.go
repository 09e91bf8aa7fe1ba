package story

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/github"
	"github.com/polex-dev/polex/test/e2e/guard"
)

// Subject is the trusted signer: the merge workflow of the repository on main.
const Subject = "https://github.com/" + github.Owner + "/" + github.Name + "/" + github.MergeFile + "@refs/heads/main"

// trustPolicy is the guard's configuration. It belongs to the cluster, not to the repository.
const trustPolicy = `apiVersion: polex.dev/v1alpha1
kind: Config
trust:
  trustedRoot: %s
  maxLifetime: 90d
  authorities:
    - name: merge-workflow
      issuer: %s
      subject: %s
      claims:
        sourceRepositoryIdentifier: "1001"
        sourceRepositoryOwnerIdentifier: "2001"
        sourceRepositoryRef: refs/heads/main
        buildTrigger: push
        runnerEnvironment: github-hosted
guard:
  namespaces: [%s]
`

// startGuard runs polex-guard and registers its webhook.
func (w *World) startGuard(ctx context.Context) error {
	policy := fmt.Sprintf(trustPolicy, w.Sigstore.TrustedRootPath, w.Issuer.IssuerURL, Subject, Namespace)
	if err := os.WriteFile(w.TrustPolicy, []byte(policy), 0o600); err != nil {
		return err
	}
	bundle, err := guard.Certify(w.at("guard"))
	if err != nil {
		return err
	}
	kubeconfig, err := w.guardAccount(ctx)
	if err != nil {
		return err
	}
	if w.Guard, err = guard.Start(ctx, guard.Options{Binaries: w.runner.Commands, Dir: w.at("guard"), Config: w.TrustPolicy, Kubeconfig: kubeconfig,
		Flags: []string{"--namespace", "polex-system"}}); err != nil {
		return err
	}
	w.ends = append(w.ends, func() error { w.Guard.Stop(); return nil })
	within, cancel := context.WithTimeout(ctx, WaitLimit)
	defer cancel()
	if err := w.Guard.Ready(within); err != nil {
		return err
	}
	if err := os.WriteFile(w.at("guard/webhook.yaml"), []byte(guard.Registration(w.Guard.Webhook, bundle)), 0o600); err != nil {
		return err
	}
	return w.GuardOn(ctx)
}

// GuardOn registers the guard's webhook, and waits until the API server calls it.
func (w *World) GuardOn(ctx context.Context) error {
	if _, err := w.Kubectl(ctx, "apply", "-f", w.at("guard/webhook.yaml")); err != nil {
		return err
	}
	return w.until(ctx, "the API server to ask the guard", func(ctx context.Context) error {
		return w.probe(ctx, func(a *cluster.Answer) bool { return !a.OK() && strings.Contains(a.Message(), "guard.polex.dev") })
	})
}

// GuardOff removes the guard's webhook.
func (w *World) GuardOff(ctx context.Context) error {
	if _, err := w.Kubectl(ctx, "delete", "-f", w.at("guard/webhook.yaml")); err != nil {
		return err
	}
	return w.until(ctx, "the API server to ask the guard no more", func(ctx context.Context) error {
		return w.probe(ctx, func(a *cluster.Answer) bool { return !strings.Contains(a.Message(), "guard.polex.dev") })
	})
}

// probe creates an unsigned exception in a dry run.
func (w *World) probe(ctx context.Context, expected func(*cluster.Answer) bool) error {
	answer, err := w.Cluster.DryRun(ctx, cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: Namespace}, []byte(Kinds[0].Exception(Ask{Name: "probe"})))
	if err == nil && !expected(answer) {
		err = fmt.Errorf("%d: %s", answer.Code, answer.Body)
	}
	return err
}
