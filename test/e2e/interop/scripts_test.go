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

	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/must"
)

// TestScripts runs the signing scripts of test/cli with the real Sigstore. They pass with the
// sandbox too, so both behave the same.
func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob(fixture.FromRoot("test/cli/testdata/sign-*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("there are no scripts: %v", err)
	}
	before := treeSize(t)
	passed := goTest(t, variables(t), "^TestScripts$/^(bundle|promote|sign-.*)$", "./test/cli")
	if want := len(scripts) + 2; len(passed) != want { // and the scripts for bundles and promotion
		t.Errorf("passed: %q, want %d", passed, want)
	}
	if grown := treeSize(t) - before; grown < len(scripts) {
		t.Errorf("the real log has %d entries more, so it was not asked", grown)
	}
}

// TestRekorV2 runs the tests of the sandbox's Rekor v2 log, in the packages sandbox and sign, with
// rekor-tiles.
func TestRekorV2(t *testing.T) {
	env := []string{"POLEX_TEST_REKOR_V2_URL=" + real.RekorV2URL, "POLEX_TEST_REKOR_V2_KEY=" + real.RekorV2KeyPath}
	for _, pkg := range []string{"./internal/sandbox", "./pkg/sign"} {
		if passed := goTest(t, env, "V2$/^named$", pkg); len(passed) == 0 {
			t.Errorf("%s: nothing was asked", pkg)
		}
	}
}

// variables returns the variables that make the tests of other packages use the real Sigstore
// instead of a sandbox.
func variables(t *testing.T) []string {
	t.Helper()
	described := strings.Join([]string{
		"POLEX_SANDBOX=" + box.Dir, "CONFIG=" + theReal().config, "CONFIG_V2=" + theRealV2().config, "ROOT=" + real.TrustedRootPath,
		"FULCIO=" + real.FulcioURL, "REKOR=" + real.RekorURL, "REKOR_V2=" + real.RekorV2URL, "TIMESTAMP=" + real.TimestampURL,
		"ISSUER=" + box.IssuerURL, "PERSON_ISSUER=" + people.URL,
		"TOKEN_REQUEST_URL=" + box.TokenRequestURL, "TOKEN_REQUEST_TOKEN=" + box.TokenRequestToken,
	}, "\n")
	return []string{"POLEX_TEST_SIGSTORE=" + write(t, "sigstore", described)}
}

// goTest runs matching tests of a package, and returns the passed subtests.
func goTest(t *testing.T, env []string, match, pkg string) []string {
	t.Helper()
	test := exec.Command("go", "test", "-count=1", "-v", "-run", match, pkg)
	test.Dir = fixture.FromRoot("")
	test.Env = append(os.Environ(), env...)
	out, err := test.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return regexp.MustCompile(`(?m)^ *--- PASS: \S*/\S*`).FindAllString(string(out), -1)
}

// treeSize returns the number of entries in the real Rekor.
func treeSize(t *testing.T) int {
	t.Helper()
	client := http.Client{Timeout: time.Minute}
	response := must.Get(client.Get(real.RekorURL + "/api/v1/log"))(t)
	defer response.Body.Close()
	var log struct{ TreeSize int }
	must.Do(t, json.NewDecoder(response.Body).Decode(&log))
	return log.TreeSize
}

// TestFaults runs the fault tests of pkg/sign (Fulcio, both logs, the timestamp authority and the
// token endpoint) with the real Sigstore behind the faults.
func TestFaults(t *testing.T) {
	before := treeSize(t)
	passed := goTest(t, variables(t), "^Test(Certificate|Log|LogV2|Token)Faults(Pass)?$/./^named$|"+
		"^Test(SomebodyElsesEntry|LogNeverAnswers)$/./^named$|"+
		"^Test(TokenEndsHalfWay|CertificateOfAStranger|LoggedAndNotThereYet)$/^named$", "./pkg/sign")
	named := 0
	for _, test := range passed {
		if strings.HasSuffix(test, "/named") {
			named++
		}
	}
	if t.Logf("%d faults", named); named < 90 {
		t.Errorf("only %d passed: %q", named, passed)
	}
	if grown := treeSize(t) - before; grown < 20 {
		t.Errorf("the real log has %d entries more, so it was hardly asked", grown)
	}
}
