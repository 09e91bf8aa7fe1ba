//go:build e2e

package load

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/cluster"
)

var long = flag.Bool("long", false, "create and ask for more, which takes many minutes")

// What all tests of this process share: an API server without Kyverno, whose
// definitions it has, and a Sigstore.
var (
	live   *cluster.Cluster
	box    *sandbox.Sandbox
	folder string // of the run; it holds the guard's binary
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if folder, err = os.MkdirTemp("", "polex-e2e-load-"); err != nil {
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
	build := exec.CommandContext(ctx, "go", "build", "-tags=grpcnotrace", "-trimpath", "-ldflags=-s -w", "-o", folder, "./cmd/polex-guard") // as it ships
	build.Dir = fromRoot("")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build polex-guard: %w\n%s", err, out)
	}
	var err error
	if box, err = sandbox.Start(ctx, sandbox.Options{Dir: filepath.Join(folder, "sigstore")}); err != nil {
		return err
	}
	if live, err = startCluster(ctx, cluster.Options{WithoutKyverno: true}); err != nil {
		return err
	}
	return serves(ctx)
}

// startCluster runs an API server in a folder of its own.
func startCluster(ctx context.Context, o cluster.Options) (*cluster.Cluster, error) {
	var err error
	if o.Dir, err = os.MkdirTemp(folder, "cluster-"); err != nil {
		return nil, err
	}
	o.Binaries, o.Tools = fromRoot("bin/e2e"), fromRoot("test/e2e/tools/kyverno")
	return cluster.Start(ctx, o)
}

// serves waits until the API server serves what Kyverno defines.
func serves(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, t := range targets("default") {
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
