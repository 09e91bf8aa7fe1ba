//go:build e2e

package interop

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestScripts runs the scripts of test/cli that sign, which pass with the
// sandbox, with the real Sigstore: what the sandbox does for polex, the real one
// does, too.
func TestScripts(t *testing.T) {
	p := theReal()
	variables := strings.Join([]string{
		"POLEX_SANDBOX=" + box.Dir, "CONFIG=" + p.config, "ROOT=" + p.root, "FULCIO=" + p.fulcio, "REKOR=" + p.rekor,
		"ISSUER=" + box.IssuerURL, "PERSON_ISSUER=" + box.PersonIssuerURL,
		"TOKEN_REQUEST_URL=" + box.TokenRequestURL, "TOKEN_REQUEST_TOKEN=" + box.TokenRequestToken,
	}, "\n")
	file := filepath.Join(t.TempDir(), "sigstore")
	if err := os.WriteFile(file, []byte(variables), 0o600); err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob(fromRoot("test/cli/testdata/sign-*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("there are no scripts: %v", err)
	}
	before := treeSize(t)
	test := exec.Command("go", "test", "-count=1", "-v", "-run", "^TestScripts$/^(promote|sign-.*)$", "./test/cli")
	test.Dir = fromRoot("")
	test.Env = append(os.Environ(), "POLEX_TEST_SIGSTORE="+file)
	out, err := test.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if passed := len(regexp.MustCompile(`(?m)^    --- PASS: TestScripts/`).FindAll(out, -1)); passed != len(scripts)+1 {
		t.Errorf("%d scripts passed, want %d\n%s", passed, len(scripts)+1, out)
	}
	if grown := treeSize(t) - before; grown < len(scripts) {
		t.Errorf("the real log has %d entries more, so it was not asked", grown)
	}
}

// treeSize is how many entries the real Rekor has.
func treeSize(t *testing.T) int {
	t.Helper()
	client := http.Client{Timeout: time.Minute}
	response, err := client.Get(real.RekorURL + "/api/v1/log")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var log struct{ TreeSize int }
	if err := json.NewDecoder(response.Body).Decode(&log); err != nil {
		t.Fatal(err)
	}
	return log.TreeSize
}
