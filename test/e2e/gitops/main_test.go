//go:build e2e

package gitops

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/argocd"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/gitserver"
)

// Folders of this repository, from the root.
const (
	binaries    = "bin/e2e"
	kyvernoTool = "test/e2e/tools/kyverno"
	argocdTool  = "test/e2e/tools/argocd"
	fluxTool    = "test/e2e/tools/flux"
)

// where exceptions stand.
const where = "platform-exceptions"

// What all tests of this process share.
var (
	live   *cluster.Cluster
	box    *sandbox.Sandbox
	remote *gitserver.Server
	argo   *argocd.ArgoCD
	folder string // of the run; its bin holds polex's
)

// patience is how long something may take that has to happen.
const patience = 2 * time.Minute

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if folder, err = os.MkdirTemp("", "polex-e2e-gitops-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	if err := start(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer live.Close()
	defer box.Close()
	defer remote.Close()
	defer argo.Close()
	status := m.Run()
	if status != 0 {
		fmt.Fprintln(os.Stderr, live.Logs(), remote.Logs(), argo.Logs())
	}
	return status
}

func start(ctx context.Context) error {
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", filepath.Join(folder, "bin")+"/", "./cmd/polex-guard", "./cmd/polex-verify", "./cmd/polex-prune")
	build.Dir = fromRoot("")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build polex: %w\n%s", err, out)
	}
	for _, part := range []string{"cluster", "git", "argocd"} {
		if err := os.Mkdir(filepath.Join(folder, part), 0o700); err != nil {
			return err
		}
	}
	var err error
	if box, err = sandbox.Start(ctx, sandbox.Options{Dir: filepath.Join(folder, "sigstore")}); err != nil {
		return err
	}
	if remote, err = gitserver.Start(ctx, filepath.Join(folder, "git")); err != nil {
		return err
	}
	if live, err = cluster.Start(ctx, cluster.Options{
		Binaries: fromRoot(binaries), Tools: fromRoot(kyvernoTool), Dir: filepath.Join(folder, "cluster"), WithoutKyverno: true,
	}); err != nil {
		return err
	}
	if err := live.StartControllers(ctx, "job-controller", "garbage-collector-controller"); err != nil {
		return err
	}
	if err := live.CreateNamespace(ctx, where); err != nil {
		return err
	}
	if err := serves(ctx); err != nil {
		return err
	}
	argo, err = argocd.Start(ctx, argocd.Options{
		Binaries: fromRoot(binaries), Tools: fromRoot(argocdTool), Dir: filepath.Join(folder, "argocd"), Cluster: live,
	})
	return err
}

// exceptions are where those of the older group are.
var exceptions = cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: where}

// native are where those of the newer group are.
var native = cluster.Target{Group: "policies.kyverno.io", Version: "v1", Namespace: where}

// serves waits until the API server serves what Kyverno defines.
func serves(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, t := range []cluster.Target{exceptions, native} {
		if err := live.Until(ctx, "the definitions", func(ctx context.Context) error {
			answer, err := live.Do(ctx, cluster.Request{Method: http.MethodGet, Path: t.Path("")})
			if err == nil && !answer.OK() {
				err = errors.New(answer.Message())
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

func fromRoot(path string) string {
	absolute, err := filepath.Abs(filepath.Join("..", "..", "..", filepath.FromSlash(path)))
	if err != nil {
		return path
	}
	return absolute
}
