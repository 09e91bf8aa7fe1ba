//go:build e2e

package interop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/test/e2e/servers"
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
					if said.reasons() != "[verified]" || len(said.Results[0].Details.Signatures) != 1 {
						t.Fatalf("%s: %+v", p.name, said)
					}
					found[i] = said.Results[0].Details.Signatures[0]
					if got := found[i]["log"]; got != p.rekor {
						t.Errorf("%s: logged by %v", p.name, got)
					}
					if got := fmt.Sprint(found[i]["checked"]); got != p.checked {
						t.Errorf("%s: checked %s, want %s", p.name, got, p.checked)
					}
					for _, varies := range []string{"log", "logIndex", "witnessedAt", "certificate"} {
						delete(found[i], varies)
					}
					for _, w := range found[i]["witnesses"].([]any) {
						delete(w.(map[string]any), "at")
						delete(w.(map[string]any), "url")
					}
				}
				if diff := cmp.Diff(found[1], found[0]); diff != "" {
					t.Errorf("what is found out of a seal (-the real Sigstore +the sandbox):\n%s", diff)
				}
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
			if got := verified(t, "--config", tc.config, tc.path).reasons(); got != tc.want {
				t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
			}
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
		if len(said.Results) < len(files) || len(files) < 100 {
			t.Errorf("%d results for %d files", len(said.Results), len(files))
		}
		for _, result := range said.Results {
			// A second valid one is rejected as a duplicate.
			if result.Reason != "verified" && result.Reason != "duplicate-identity" {
				continue
			}
			if diff := cmp.Diff(whole, signatures(t, files[result.File])); diff != "" {
				t.Errorf("%s: %s: %s: other signatures (-signed +flipped):\n%s", result.File, result.Reason, result.Message, diff)
			}
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
			must.Do(t, errors.Join(real.Revive(context.Background(), tc.program), real.Answers(t.Context(), tc.health,
				nil)))
			if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "hint: nothing is lost") {
				t.Errorf("during the outage: %s, %v", out, err)
			}
			if now := git("-C", "remote.git", "rev-parse", "main"); now != before || git("-C", "clone", "rev-parse", "HEAD") != before || git("-C", "clone", "status", "--porcelain") != "" {
				t.Errorf("the failed run changed something; main is at %s", now)
			}
			if out, err = promote(); err != nil {
				t.Fatalf("after the outage: %v", err)
			}
			if n := strings.TrimSpace(git("-C", "remote.git", "rev-list", "--count", "main")); n != "2" {
				t.Errorf("main has %s commits:\n%s", n, out)
			}
			found := verified(t, "--config", tc.place.config, filepath.Join(clone, "signed"))
			if found.reasons() != "[verified verified]" {
				t.Errorf("%+v", found)
			}
			for _, result := range found.Results {
				if n := len(result.Details.Signatures); n != 1 {
					t.Errorf("%s has %d signatures", result.File, n)
				}
			}
		})
	}
}
