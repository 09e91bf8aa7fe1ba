//go:build e2e

package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/cluster"
)

// Folders of this repository, from the root.
const (
	binaries = "bin/e2e"
	tools    = "test/e2e/tools/kyverno"
)

// What all tests of this process share.
var (
	live   *cluster.Cluster
	box    *sandbox.Sandbox
	folder string // of the run; it holds the guard's binary
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if folder, err = os.MkdirTemp("", "polex-e2e-guard-"); err != nil {
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
	status := m.Run()
	if status != 0 {
		fmt.Fprintln(os.Stderr, live.Logs())
	}
	return status
}

func start(ctx context.Context) error {
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", folder, "./cmd/polex-guard")
	build.Dir = fromRoot("")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build polex-guard: %w\n%s", err, out)
	}
	dir := filepath.Join(folder, "cluster")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	var err error
	if box, err = sandbox.Start(ctx, sandbox.Options{Dir: filepath.Join(folder, "sigstore")}); err != nil {
		return err
	}
	live, err = cluster.Start(ctx, cluster.Options{Binaries: fromRoot(binaries), Tools: fromRoot(tools), Dir: dir, WithoutKyverno: true, Audited: []string{account}})
	if err != nil {
		return err
	}
	return serves(ctx)
}

// served are the kinds with their versions that Kyverno defines.
var served = []cluster.Target{
	{Group: "kyverno.io", Version: "v2"}, {Group: "kyverno.io", Version: "v2beta1"},
	{Group: "policies.kyverno.io", Version: "v1"}, {Group: "policies.kyverno.io", Version: "v1beta1"}, {Group: "policies.kyverno.io", Version: "v1alpha1"},
}

// serves waits until the API server serves what Kyverno defines. While definitions
// still come, it may leave a request without an answer: each is given up soon.
func serves(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	paths := []string{fmt.Sprintf(reports, "default")}
	for _, t := range served {
		t.Namespace = "default"
		paths = append(paths, t.Path(""))
	}
	for _, path := range paths {
		if err := live.Until(ctx, "the definitions", func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			answer, err := live.Do(ctx, cluster.Request{Method: http.MethodGet, Path: strings.TrimSuffix(path, "/polex-guard")})
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
