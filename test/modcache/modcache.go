// Package modcache finds the source of other projects in the Go module cache, for tests that
// compare polex with those projects. The source is neither committed here nor compiled in.
package modcache

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// KyvernoModule is Kyverno's module, at any release.
const KyvernoModule = "github.com/kyverno/kyverno"

// The modules that tests read.
const (
	// Kyverno has the definitions of PolicyException and test data.
	Kyverno = KyvernoModule + "@v1.19.1"
	// KubectlSigstore has the test data of k8s-manifest-sigstore.
	KubectlSigstore = "github.com/sigstore/k8s-manifest-sigstore@v0.5.4"
	// ProtobufSpecs and SigstoreGo have Sigstore bundles, and roots for them.
	ProtobufSpecs = "github.com/sigstore/protobuf-specs@v0.5.1"
	SigstoreGo    = "github.com/sigstore/sigstore-go@v1.3.0"
	// CertManager has the definitions of Certificate and Issuer.
	CertManager = "github.com/cert-manager/cert-manager@v1.21.2"
	// PrometheusOperator has the definitions of PrometheusRule and ServiceMonitor.
	PrometheusOperator = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
	// SARIF has the published JSON Schema of SARIF 2.1.0 among its test data.
	SARIF = "github.com/securego/gosec/v2@v2.29.0"
)

// Dir returns the folder of a module at a version. It downloads a missing module and checks it
// against Go's checksum database. With -short, it skips the test.
func Dir(t testing.TB, module string) string {
	t.Helper()
	if testing.Short() {
		t.Skipf("-short: %s is downloaded", module)
	}
	// Another folder, so that this module's go.mod does not change.
	download := exec.Command("go", "mod", "download", "-json", module) // #nosec G204 -- a constant above
	download.Dir = t.TempDir()
	out, err := download.Output()
	if err != nil {
		t.Fatalf("go mod download %s: %v\n%s", module, err, out)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatal(err)
	}
	return found.Dir
}

// Read returns a file of a module at a version. The path has slashes.
func Read(t testing.TB, module, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(Dir(t, module), filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
