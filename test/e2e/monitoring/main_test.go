//go:build e2e

package monitoring

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/polex-dev/polex/internal/guard/static"
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

// staticFolder is the folder of the run with the static policies of the API server.
const staticFolder = "static"

// staticFiles makes the API server read policies from a folder, and webhooks from an empty one.
func staticFiles(f *fixture.Fixture) (o cluster.Options, err error) {
	config := "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"
	for plugin, kind := range map[string]string{static.PolicyPlugin: "ValidatingAdmissionPolicyConfiguration", static.WebhookPlugin: "WebhookAdmissionConfiguration"} {
		dir := filepath.Join(f.Folder, staticFolder, plugin)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return o, err
		}
		config += fmt.Sprintf("- {name: %s, configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: %s, staticManifestsDir: %q}}\n", plugin, kind, dir)
	}
	admission := filepath.Join(f.Folder, staticFolder, "admission.yaml")
	o.Flags = []string{"--admission-control-config-file=" + admission}
	if os.Getenv("KUBERNETES") == "1.36" {
		o.Flags = append(o.Flags, "--feature-gates=ManifestBasedAdmissionControlConfig=true")
	}
	return o, errors.Join(os.WriteFile(admission, []byte(config), 0o600),
		os.WriteFile(filepath.Join(f.Folder, staticFolder, static.PolicyPlugin, "a.yaml"), []byte(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: a.static.k8s.io}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "true"}]
`), 0o600))
}

func TestMain(m *testing.M) {
	fixture.Main(m, func(ctx context.Context, f *fixture.Fixture) error {
		o, err := staticFiles(f)
		if err != nil {
			return err
		}
		err = errors.Join(f.Build(ctx, "polex-guard", "polex-sign", "polex-request", "polex-audit"), f.StartSigstore(ctx), f.StartCluster(ctx, o))
		live, box, folder = f.Cluster, f.Sigstore, f.Folder
		return err
	})
}
