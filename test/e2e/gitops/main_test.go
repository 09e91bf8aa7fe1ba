//go:build e2e

package gitops

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/argocd"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/gitserver"
)

// Folders of this repository, from the root.
const (
	binaries   = "bin/e2e"
	argocdTool = "test/e2e/tools/argocd"
	tools      = "test/e2e/tools"
)

// where is the namespace of exceptions.
const where = "platform-exceptions"

// Shared by all tests of this process.
var (
	live   *cluster.Cluster
	box    *sandbox.Sandbox
	remote *gitserver.Server
	argo   *argocd.ArgoCD
	folder string // of the run; it holds polex's binaries
)

// waitLimit is the timeout for expected events.
const waitLimit = 2 * time.Minute

func TestMain(m *testing.M) {
	fixture.Main(m, func(ctx context.Context, f *fixture.Fixture) error {
		if err := errors.Join(f.Build(ctx, "polex-guard", "polex-sign", "polex-verify", "polex-prune"), f.StartSigstore(ctx), f.StartCluster(ctx, cluster.Options{WithoutKyverno: true})); err != nil {
			return err
		}
		live, box, folder = f.Cluster, f.Sigstore, f.Folder
		if err := errors.Join(live.StartControllers(ctx, "job-controller", "garbage-collector-controller"), live.CreateNamespace(ctx, where)); err != nil {
			return err
		}
		for _, name := range []string{"remote", "argocd"} {
			if _, err := f.Dir(name); err != nil {
				return err
			}
		}
		var err error
		if remote, err = gitserver.Start(ctx, filepath.Join(folder, "remote")); err != nil {
			return err
		}
		f.Keep(remote)
		argo, err = argocd.Start(ctx, argocd.Options{
			Binaries: fixture.FromRoot(binaries), Tools: fixture.FromRoot(argocdTool), Dir: filepath.Join(folder, "argocd"), Cluster: live,
		})
		if err == nil {
			f.Keep(argo)
		}
		return err
	})
}

// exceptions are those of the older group.
var exceptions = cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: where}

// native are those of the newer group.
var native = cluster.Target{Group: "policies.kyverno.io", Version: "v1", Namespace: where}
