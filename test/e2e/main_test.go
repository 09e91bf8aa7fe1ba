//go:build e2e

package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/must"
)

// Folders of this repository, from the root.
const (
	binaries = "bin/e2e"
	tools    = "test/e2e/tools/kyverno"
)

// live is the only cluster of this process.
var live *cluster.Cluster

func TestMain(m *testing.M) {
	fixture.Main(m, func(ctx context.Context, f *fixture.Fixture) error {
		err := f.StartCluster(ctx, cluster.Options{})
		live = f.Cluster
		return err
	})
}

// folder makes a folder with files, and returns the paths of their names.
func folder(t *testing.T, files map[string]string) (path func(name string) string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, dir, name, text)
	}
	return func(name string) string { return filepath.Join(dir, name) }
}

// output runs a command that must succeed, and returns its output.
func output(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	return strings.TrimSpace(must.Output(t, c))
}
