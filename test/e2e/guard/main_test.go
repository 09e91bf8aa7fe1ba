//go:build e2e

package guard

import (
	"context"
	"errors"
	"testing"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/must"
)

// binaries is the folder of this repository with the programs.
const binaries = "bin/e2e"

// Shared by all tests of this process.
var (
	live   *cluster.Cluster // with Kyverno and its webhooks
	box    *sandbox.Sandbox
	folder string // of the run; it holds the guard's binary
)

func TestMain(m *testing.M) {
	fixture.Main(m, func(ctx context.Context, f *fixture.Fixture) error {
		err := errors.Join(f.Build(ctx, "polex-guard"), f.StartSigstore(ctx),
			f.StartCluster(ctx, cluster.Options{KyvernoAccount: true, Audited: []string{account}}))
		live, box, folder = f.Cluster, f.Sigstore, f.Folder
		return err
	})
}

// served are the kinds and versions that Kyverno defines.
var served = []cluster.Target{
	{Group: "kyverno.io", Version: "v2"}, {Group: "kyverno.io", Version: "v2beta1"},
	{Group: "policies.kyverno.io", Version: "v1"}, {Group: "policies.kyverno.io", Version: "v1beta1"}, {Group: "policies.kyverno.io", Version: "v1alpha1"},
}

// withoutKyverno kills Kyverno until the test ends.
func withoutKyverno(t *testing.T) {
	t.Helper()
	must.Do(t, live.KillKyverno(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
		defer cancel()
		if err := live.ReviveKyverno(ctx); err != nil {
			t.Error(err)
		}
	})
}
