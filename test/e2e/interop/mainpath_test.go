//go:build e2e

package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/servers"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestMainPath signs with a workflow's identity and verifies, with each Sigstore. The results of
// polex-verify are the same, including the claims of the certificate.
func TestMainPath(t *testing.T) {
	for _, pair := range places() {
		for group := range drafts {
			t.Run(pair[1].name+", "+group, func(t *testing.T) {
				var found [2]map[string]any
				for i, p := range pair {
					path := sealed(t, p, draft(t, group, "agent"))
					said := verified(t, "--config", p.config, path)
					must.That(t, said.reasons() == "[verified]" && len(said.Results[0].Details.Signatures) == 1,
						"%s: %+v", p.name, said)
					found[i] = said.Results[0].Details.Signatures[0]
					expect.Equal(t, p.name+": logged by", any(p.rekor), found[i]["log"])
					expect.Is(t, p.name+": checked", p.checked, fmt.Sprint(found[i]["checked"]))
					for _, varies := range []string{"log", "logIndex", "witnessedAt", "certificate"} {
						delete(found[i], varies)
					}
					for _, w := range found[i]["witnesses"].([]any) {
						delete(w.(map[string]any), "at")
						delete(w.(map[string]any), "url")
					}
				}
				expect.Equal(t, "what is found out of a seal (-the real Sigstore +the sandbox)", found[1], found[0])
			})
		}
	}
}

// eachPlace runs a test with each Sigstore, and passes it another one too.
func eachPlace(t *testing.T, test func(t *testing.T, p, other place)) {
	t.Helper()
	for _, pair := range places() {
		for i, p := range pair {
			t.Run(p.name, func(t *testing.T) { test(t, p, pair[1-i]) })
		}
	}
}

// TestRefused: polex-verify rejects invalid documents with each Sigstore.
func TestRefused(t *testing.T) {
	eachPlace(t, func(t *testing.T, p, other place) {
		good := sealed(t, p, draft(t, "kyverno.io", "agent"))
		for _, tc := range []struct{ name, config, path, want string }{
			{"signed on another branch", p.config, byStranger(t, p, draft(t, "kyverno.io", "agent")), "[wrong-identity]"},
			{"not signed", p.config, draft(t, "kyverno.io", "agent"), "[unsigned]"},
			{"signed with the other Sigstore", other.config, good, "[unproven-log-entry]"},
		} {
			expect.Is(t, tc.name, tc.want, verified(t, "--config", tc.config, tc.path).reasons())
		}
	})
}

// byStranger signs a file as the workflow of another branch.
func byStranger(t *testing.T, p place, path string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "stranger.yaml")
	output(t, "polex-sign", append(slices.Clone(p.flags), "--identity-token", token(t,
		sandbox.Identity{Ref: "refs/heads/dev"}), path, "--output-file", out)...)
	return out
}

// TestFlipped flips a bit in every thirteenth byte of a signed file. None of these files verifies,
// but for those with the same signatures in another form: a few bits of gzip mean nothing.
func TestFlipped(t *testing.T) {
	eachPlace(t, func(t *testing.T, p, _ place) {
		good := []byte(read(t, sealed(t, p, draft(t, "kyverno.io", "agent"))))
		whole := signatures(t, good)
		dir := t.TempDir()
		files := make(map[string][]byte)
		for at := 0; at < len(good); at += 13 {
			text := slices.Clone(good)
			text[at] ^= 1
			path := filepath.Join(dir, fmt.Sprintf("at-%d.yaml", at))
			must.Do(t, os.WriteFile(path, text, 0o600))
			files[path] = text
		}
		said := verified(t, "--config", p.config, dir)
		expect.That(t, len(said.Results) >= len(files) && len(files) >= 100,
			"%d results for %d files", len(said.Results), len(files))
		for _, result := range said.Results {
			// A second valid one is rejected as a duplicate.
			if result.Reason != "verified" && result.Reason != "duplicate-identity" {
				continue
			}
			expect.Equal(t, fmt.Sprintf("%s: %s: %s: other signatures (-signed +flipped)", result.File, result.Reason, result.Message),
				whole, signatures(t, files[result.File]))
		}
	})
}

// signatures decodes the signature annotations of a file.
func signatures(t *testing.T, text []byte) *seal.Seal {
	t.Helper()
	return must.Get(seal.Read(must.Get(exception.Parse(text, "signed.yaml"))(t)))(t)
}

// TestOutage stops a real server, promotes two exceptions, and starts the server again. The failed
// run changes nothing. The next run promotes both, in one commit with one signature for each.
func TestOutage(t *testing.T) {
	for _, tc := range []struct {
		program string
		place   place
		health  string
		want    string
	}{
		{"rekor-tiles", theRealV2(), real.RekorV2URL + "/healthz", "log " + real.RekorV2URL},
		{"rekor-server", theReal(), real.RekorURL + "/api/v1/log", "log " + real.RekorURL},
		{"fulcio", theReal(), real.FulcioURL + "/api/v1/rootCert", "certificate from " + real.FulcioURL},
	} {
		t.Run(tc.program, func(t *testing.T) {
			dir := t.TempDir()
			git := func(args ...string) string {
				command := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=e2e", "-c", "user.email=e2e@example.com"}, args...)...)
				return must.Run(t, command)
			}
			git("init", "--quiet", "--bare", "--initial-branch=main", "remote.git")
			git("clone", "--quiet", "remote.git", "clone")
			clone := filepath.Join(dir, "clone")
			must.Do(t, os.Mkdir(filepath.Join(clone, "unsigned"), 0o755))
			for _, name := range []string{"agent", "exporter"} {
				must.Do(t, os.WriteFile(filepath.Join(clone, "unsigned", name+".yaml"), []byte(read(t, draft(t,
					"kyverno.io", name))), 0o600))
			}
			git("-C", "clone", "add", "--all")
			git("-C", "clone", "commit", "--quiet", "--message", "Ask for two")
			git("-C", "clone", "push", "--quiet", "origin", "HEAD:main")
			git("-C", "clone", "config", "user.name", "e2e")
			git("-C", "clone", "config", "user.email", "e2e@example.com")
			before := git("-C", "clone", "rev-parse", "HEAD")
			promote := func() (string, error) {
				out, err := commands.Output(t.Context(), servers.Command{Program: "polex-sign", Dir: clone, Args: []string{"promote", "--config", tc.place.config,
					"--identity-token", token(t, sandbox.Identity{}), "--push"}})
				return string(out), err
			}
			must.Do(t, real.Kill(tc.program))
			out, err := promote()
			must.Do(t, errors.Join(real.Revive(context.Background(), tc.program), real.Answers(t.Context(), tc.health, nil)))
			if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "hint: nothing is lost") {
				t.Errorf("during the outage: %s, %v", out, err)
			}
			if now := git("-C", "remote.git", "rev-parse", "main"); now != before || git("-C", "clone", "rev-parse", "HEAD") != before || git("-C", "clone", "status", "--porcelain") != "" {
				t.Errorf("the failed run changed something; main is at %s", now)
			}
			if out, err = promote(); err != nil {
				t.Fatalf("after the outage: %v", err)
			}
			n := strings.TrimSpace(git("-C", "remote.git", "rev-list", "--count", "main"))
			expect.That(t, n == "2", "main has %s commits:\n%s", n, out)
			found := verified(t, "--config", tc.place.config, filepath.Join(clone, "signed"))
			expect.That(t, found.reasons() == "[verified verified]", "%+v", found)
			for _, result := range found.Results {
				expect.Is(t, result.File, 1, len(result.Details.Signatures))
			}
		})
	}
}

// TestScripts runs the signing scripts of test/cli with the real Sigstore. They pass with the
// sandbox too, so both behave the same.
func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob(fixture.FromRoot("test/cli/testdata/sign-*.txtar"))
	must.That(t, err == nil && len(scripts) != 0, "there are no scripts: %v", err)
	before := treeSize(t)
	passed := goTest(t, variables(t), "^TestScripts$/^(bundle|promote|sign-.*)$", "./test/cli")
	if want := len(scripts) + 2; len(passed) != want { // and the scripts for bundles and promotion
		t.Errorf("passed: %q, want %d", passed, want)
	}
	grown := treeSize(t) - before
	expect.That(t, grown >= len(scripts), "the real log has %d entries more, so it was not asked", grown)
}

// TestRekorV2 runs the tests of the sandbox's Rekor v2 log, in the packages sandbox and sign, with rekor-tiles.
func TestRekorV2(t *testing.T) {
	env := []string{"POLEX_TEST_REKOR_V2_URL=" + real.RekorV2URL, "POLEX_TEST_REKOR_V2_KEY=" + real.RekorV2KeyPath}
	for _, pkg := range []string{"./internal/sandbox", "./pkg/sign"} {
		expect.That(t, len(goTest(t, env, "V2$/^named$", pkg)) != 0, "%s: nothing was asked", pkg)
	}
}

// variables returns the variables that make the tests of other packages use the real Sigstore instead of a sandbox.
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
	must.That(t, err == nil, "%v\n%s", err, out)
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
	grown := treeSize(t) - before
	expect.That(t, grown >= 20, "the real log has %d entries more, so it was hardly asked", grown)
}
