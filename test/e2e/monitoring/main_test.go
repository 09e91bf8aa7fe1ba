//go:build e2e

package monitoring

import (
	"context"
	"errors"
	"testing"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
)

// Shared by all tests of this process.
var (
	live   *cluster.Cluster // with Kyverno
	box    *sandbox.Sandbox
	folder string // of the run; it holds polex's binaries
)

func TestMain(m *testing.M) {
	fixture.Main(m, func(ctx context.Context, f *fixture.Fixture) error {
		err := errors.Join(f.Build(ctx, "polex-guard", "polex-sign", "polex-request", "polex-audit"), f.StartSigstore(ctx), f.StartCluster(ctx, cluster.Options{}))
		live, box, folder = f.Cluster, f.Sigstore, f.Folder
		return err
	})
}
