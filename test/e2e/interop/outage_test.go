//go:build e2e

package interop

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/servers"
)

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
				out, err := command.CombinedOutput()
				if err != nil {
					t.Fatalf("git %q: %v\n%s", args, err, out)
				}
				return string(out)
			}
			git("init", "--quiet", "--bare", "--initial-branch=main", "remote.git")
			git("clone", "--quiet", "remote.git", "clone")
			clone := filepath.Join(dir, "clone")
			if err := os.Mkdir(filepath.Join(clone, "unsigned"), 0o755); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"agent", "exporter"} {
				if err := os.WriteFile(filepath.Join(clone, "unsigned", name+".yaml"), []byte(read(t, draft(t, "kyverno.io", name))), 0o600); err != nil {
					t.Fatal(err)
				}
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
			if err := real.Kill(tc.program); err != nil {
				t.Fatal(err)
			}
			out, err := promote()
			if startErr := errors.Join(real.Revive(context.Background(), tc.program), real.Answers(t.Context(), tc.health, nil)); startErr != nil {
				t.Fatal(startErr)
			}
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
