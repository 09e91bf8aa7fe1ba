//go:build e2e

package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/sandbox"
)

// TestMainPath signs with a workflow's identity and verifies, with each
// Sigstore. What polex-verify finds out about the seal, the certificate's claims
// included, is the same.
func TestMainPath(t *testing.T) {
	for group := range drafts {
		t.Run(group, func(t *testing.T) {
			found := map[string]map[string]any{}
			for _, p := range places() {
				path := sealed(t, p, draft(t, group, "agent"))
				said := verified(t, "--config", p.config, path)
				if said.reasons() != "[verified]" || len(said.Results[0].Details.Signatures) != 1 {
					t.Fatalf("%s: %+v", p.name, said)
				}
				found[p.name] = said.Results[0].Details.Signatures[0]
				if got := found[p.name]["log"]; got != p.rekor {
					t.Errorf("%s: logged by %v", p.name, got)
				}
				for _, varies := range []string{"log", "logIndex", "witnessedAt"} {
					delete(found[p.name], varies)
				}
			}
			real := found[theReal().name]
			if diff := cmp.Diff(real, found["the sandbox"]); diff != "" {
				t.Errorf("what is found out of a seal (-the real Sigstore +the sandbox):\n%s", diff)
			}
			if checked := fmt.Sprint(real["checked"]); checked != "[certificate-chain sct signed-entry-timestamp inclusion-proof]" {
				t.Errorf("checked %s", checked)
			}
		})
	}
}

// TestRefused holds what nobody may get past polex-verify against each Sigstore.
func TestRefused(t *testing.T) {
	for _, p := range places() {
		t.Run(p.name, func(t *testing.T) {
			good := sealed(t, p, draft(t, "kyverno.io", "agent"))
			stranger := filepath.Join(t.TempDir(), "stranger.yaml")
			must(t, "polex-sign", "--fulcio-url", p.fulcio, "--rekor-url", p.rekor, "--trusted-root", p.root,
				"--identity-token", token(t, sandbox.Identity{Ref: "refs/heads/dev"}), draft(t, "kyverno.io", "agent"), "--output", stranger)
			for _, tc := range []struct{ name, config, path, want string }{
				{"signed on another branch", p.config, stranger, "[wrong-identity]"},
				{"not signed", p.config, draft(t, "kyverno.io", "agent"), "[unsigned]"},
				{"signed with the other Sigstore", other(p).config, good, "[unproven-log-entry]"},
			} {
				if got := verified(t, "--config", tc.config, tc.path).reasons(); got != tc.want {
					t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
				}
			}
		})
	}
}

func other(p place) place {
	all := places()
	return all[1-slices.IndexFunc(all, func(o place) bool { return o.name == p.name })]
}

// TestFlipped turns a bit of every thirteenth byte of a sealed file. None of the
// files verifies.
func TestFlipped(t *testing.T) {
	for _, p := range places() {
		t.Run(p.name, func(t *testing.T) {
			good := []byte(read(t, sealed(t, p, draft(t, "kyverno.io", "agent"))))
			dir := t.TempDir()
			flipped := 0
			for at := 0; at < len(good); at += 13 {
				text := slices.Clone(good)
				text[at] ^= 1
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("at-%d.yaml", at)), text, 0o600); err != nil {
					t.Fatal(err)
				}
				flipped++
			}
			said := verified(t, "--config", p.config, dir)
			if len(said.Results) < flipped || flipped < 100 {
				t.Errorf("%d results for %d files", len(said.Results), flipped)
			}
			for _, result := range said.Results {
				// A second one that holds is refused for being the second.
				if result.Reason == "verified" || result.Reason == "duplicate-identity" {
					t.Errorf("%s: %s: %s", result.File, result.Reason, result.Message)
				}
			}
		})
	}
}
