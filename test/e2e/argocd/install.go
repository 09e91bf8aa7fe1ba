package argocd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/servers"
)

// Source returns the folder of Argo CD's source, in the version of the module in tools.
func Source(ctx context.Context, tools string) (string, error) {
	return servers.Source(ctx, tools, "github.com/argoproj/argo-cd/v3")
}

// install applies the released definitions and configuration.
func (a *ArgoCD) install(_, within context.Context) error {
	source, err := Source(within, a.options.Tools)
	if err != nil {
		return err
	}
	if err := a.options.Cluster.CreateNamespace(within, Namespace); err != nil {
		return err
	}
	for _, folder := range []string{"crds", "base/config"} {
		if err := a.installFolder(within, filepath.Join(source, "manifests", filepath.FromSlash(folder))); err != nil {
			return err
		}
	}
	secret := fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: argocd-secret, namespace: %s}, stringData: {server.secretkey: %q}}", Namespace, rand.Text())
	if err := a.options.Cluster.ApplyAll(within, []byte(secret)); err != nil {
		return err
	}
	return a.served(within)
}

// installFolder applies every manifest of a folder in Argo CD's namespace.
func (a *ArgoCD) installFolder(ctx context.Context, folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("find Argo CD's manifests in %s: %w", folder, errors.Join(err, os.ErrNotExist))
	}
	for _, file := range slices.DeleteFunc(files, func(file string) bool { return filepath.Base(file) == "kustomization.yaml" }) {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		namespaced := strings.Replace(string(text), "\nmetadata:\n", "\nmetadata:\n  namespace: "+Namespace+"\n", 1)
		if strings.Contains(namespaced, "\nkind: CustomResourceDefinition\n") {
			namespaced = string(text)
		}
		if err := a.options.Cluster.ApplyAll(ctx, []byte(namespaced)); err != nil {
			return fmt.Errorf("install %s: %w", file, err)
		}
	}
	return nil
}

// served waits until Applications and projects can be created.
func (a *ArgoCD) served(within context.Context) error {
	for _, kind := range []string{"Application", "AppProject"} {
		if err := a.Until(within, kind, func(ctx context.Context) error {
			_, err := a.options.Cluster.Path(ctx, cluster.Object{APIVersion: "argoproj.io/v1alpha1", Kind: kind, Namespace: Namespace})
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
