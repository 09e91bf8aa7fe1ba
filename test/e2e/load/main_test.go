//go:build e2e

package load

import (
	"context"
	"errors"
	"flag"
	"testing"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
)

var long = flag.Bool("long", false, "create and ask for more, which takes many minutes")

// Shared by all tests of this process: an API server with Kyverno's definitions but without
// Kyverno, and a Sigstore.
var (
	live   *cluster.Cluster
	box    *sandbox.Sandbox
	folder string // of the run; it holds the guard's binary
)

func TestMain(m *testing.M) {
	fixture.Main(m, func(ctx context.Context, f *fixture.Fixture) error {
		err := errors.Join(f.Build(ctx, "polex-guard"), f.StartSigstore(ctx), f.StartCluster(ctx, cluster.Options{WithoutKyverno: true}))
		live, box, folder = f.Cluster, f.Sigstore, f.Folder
		return err
	})
}
