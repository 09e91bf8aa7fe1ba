// Package modcache finds the source of other projects in the Go module cache,
// for tests that hold polex against what those projects publish. Nothing of it
// is committed here or compiled in.
package modcache

import (
	"encoding/json"
	"os/exec"
	"testing"
)

// KyvernoModule is the module of Kyverno, at any release.
const KyvernoModule = "github.com/kyverno/kyverno"

// The modules that tests read.
const (
	// Kyverno has the definitions of PolicyException and its own test data.
	Kyverno = KyvernoModule + "@v1.19.1"
	// SARIF has the published JSON Schema of SARIF 2.1.0 among its test data.
	SARIF = "github.com/securego/gosec/v2@v2.29.0"
)

// Dir returns the folder of a module at a version, downloaded when it is not in
// the cache yet and checked against Go's checksum database. It skips the test
// under -short.
func Dir(t testing.TB, module string) string {
	t.Helper()
	if testing.Short() {
		t.Skipf("-short: %s is downloaded", module)
	}
	// Outside of this module, so that its go.mod stays as it is.
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
