//go:build e2e

package monitoring

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/cluster"
)

// What all tests of this process share.
var (
	live   *cluster.Cluster // with Kyverno
	box    *sandbox.Sandbox
	folder string // of the run; it holds polex's binaries
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if folder, err = os.MkdirTemp("", "polex-e2e-monitoring-"); err != nil {
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
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", folder, "./cmd/polex-guard", "./cmd/polex-sign", "./cmd/polex-request", "./cmd/polex-audit")
	build.Dir = fromRoot("")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build polex: %w\n%s", err, out)
	}
	dir := filepath.Join(folder, "cluster")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	var err error
	if box, err = sandbox.Start(ctx, sandbox.Options{Dir: filepath.Join(folder, "sigstore")}); err != nil {
		return err
	}
	live, err = cluster.Start(ctx, cluster.Options{Binaries: fromRoot(binaries), Tools: fromRoot("test/e2e/tools/kyverno"), Dir: dir})
	return err
}
