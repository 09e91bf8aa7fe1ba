//go:build e2e

package e2e

import (
	"context"
	"os/exec"
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

// output runs a command that must succeed, and returns its output.
func output(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	out, err := c.Output()
	must.That(t, err == nil, "%v: %v", c.Args, err)
	return strings.TrimSpace(string(out))
}
