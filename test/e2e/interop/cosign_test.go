//go:build e2e

package interop

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/test/e2e/servers"
)

const password = "correct horse"

// theirEnv is what the others' commands need in their environment: the roots in
// the form that they take, a home of their own, and no way past loopback.
func theirEnv(t *testing.T) []string {
	t.Helper()
	return []string{
		"SIGSTORE_ROOT_FILE=" + real.FulcioChainPath, "SIGSTORE_REKOR_PUBLIC_KEY=" + real.RekorKeyPath, "SIGSTORE_CT_LOG_PUBLIC_KEY_FILE=" + real.CTLogKeyPath,
		"HOME=" + t.TempDir(), "COSIGN_PASSWORD=" + password,
		"HTTPS_PROXY=http://127.0.0.1:1", "HTTP_PROXY=http://127.0.0.1:1",
	}
}

// cosign runs cosign's own command.
func cosign(t *testing.T, args ...string) error {
	t.Helper()
	return commands.Finish(t.Context(), servers.Command{Program: fromRoot("bin/e2e/cosign"), Args: args, Env: theirEnv(t), Dir: t.TempDir()})
}

// keyPair makes a pair by cosign's command, and returns the paths of both.
func keyPair(t *testing.T) (private, public string) {
	t.Helper()
	dir := t.TempDir()
	if err := cosign(t, "generate-key-pair", "--output-key-prefix", filepath.Join(dir, "cosign")); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "cosign.key"), filepath.Join(dir, "cosign.pub")
}

// TestCosignVerifiesOurs: cosign verify-blob takes what polex-sign wrote, from
// either form of the evidence.
func TestCosignVerifiesOurs(t *testing.T) {
	private, public := keyPair(t)
	_, stranger := keyPair(t)
	id := sandbox.Identity{}.Subject()
	keyless := func(subject string) []string {
		return []string{"--certificate-identity", subject, "--certificate-oidc-issuer", box.IssuerURL}
	}
	for group := range drafts {
		byKey := filepath.Join(t.TempDir(), "by-key.yaml")
		if _, err := commands.Output(t.Context(), servers.Command{Program: "polex-sign", Env: []string{"COSIGN_PASSWORD=" + password},
			Args: []string{"--key", private, "--rekor-url", real.RekorURL, "--trusted-root", real.TrustedRootPath, draft(t, group, "agent"), "--output", byKey}}); err != nil {
			t.Fatal(err)
		}
		for _, tc := range []struct {
			how         string
			path        string
			good, wrong []string
		}{
			{"keyless", sealed(t, theReal(), draft(t, group, "agent")), keyless(id), keyless(id + "-evil")},
			{"by key", byKey, []string{"--key", public}, []string{"--key", stranger}},
		} {
			parts := takeApart(t, tc.path)
			other := write(t, "other.yaml", "#"+read(t, parts.message))
			for form, bundle := range map[string][]string{
				"new": {"--new-bundle-format", "--trusted-root", real.TrustedRootPath, "--bundle", parts.modern},
				"old": {"--offline", "--rekor-url", real.RekorURL, "--bundle", parts.old},
			} {
				t.Run(strings.Join([]string{group, tc.how, form}, ", "), func(t *testing.T) {
					verify := func(who []string, blob string) error {
						args := append([]string{"verify-blob"}, bundle...)
						if form == "old" && tc.how == "by key" {
							args = append(args, "--signature", signatureFile(t, tc.path))
						}
						return cosign(t, append(append(args, who...), blob)...)
					}
					if err := verify(tc.good, parts.message); err != nil {
						t.Errorf("cosign refuses: %v", err)
					}
					if verify(tc.good, other) == nil {
						t.Error("cosign accepts another message")
					}
					if verify(tc.wrong, parts.message) == nil {
						t.Error("cosign accepts another signer")
					}
				})
			}
		}
	}
}

// signatureFile writes the signature of a sealed document as cosign reads it.
func signatureFile(t *testing.T, path string) string {
	t.Helper()
	value, _ := parse(t, read(t, path)).Lookup("metadata", "annotations", seal.Prefix+"signature")
	text, isText := value.(string)
	if !isText {
		t.Fatalf("%s has no signature", path)
	}
	return write(t, "signature", text)
}

// resolved writes an exception with a time of expiry instead of a duration: what
// signs it resolves nothing.
func resolved(t *testing.T, group, name string) string {
	t.Helper()
	at := time.Now().Add(7 * 24 * time.Hour).UTC().Format(time.RFC3339)
	text := strings.Replace(read(t, draft(t, group, name)), "polex.dev/expires-in: 7d", "polex.dev/expires-at: "+at, 1)
	return write(t, name+".yaml", text)
}

// TestOursVerifiesCosigns: what cosign sign-blob writes about a message, attached
// to the document, is a seal.
func TestOursVerifiesCosigns(t *testing.T) {
	private, public := keyPair(t)
	_, stranger := keyPair(t)
	for group := range drafts {
		for _, how := range []string{"keyless", "by key"} {
			for _, form := range []string{"old", "new"} {
				t.Run(strings.Join([]string{group, how, form}, ", "), func(t *testing.T) {
					path := resolved(t, group, "agent")
					bundle := filepath.Join(t.TempDir(), "bundle.json")
					args := []string{"sign-blob", "--yes", "--rekor-url", real.RekorURL, "--bundle", bundle}
					good, wrong := []string{"--config", theReal().config}, []string{"--trusted-root", real.TrustedRootPath, "--certificate-identity", "https://example.com/other", "--certificate-oidc-issuer", box.IssuerURL}
					if how == "by key" {
						args = append(args, "--key", private)
						good, wrong = []string{"--trusted-root", real.TrustedRootPath, "--key", public}, []string{"--trusted-root", real.TrustedRootPath, "--key", stranger}
					} else {
						args = append(args, "--fulcio-url", real.FulcioURL, "--identity-token", token(t, sandbox.Identity{}))
					}
					read := fromOld
					if form == "new" {
						args, read = append(args, "--new-bundle-format"), fromModern
					}
					if err := cosign(t, append(args, message(t, path))...); err != nil {
						t.Fatal(err)
					}
					attached := attach(t, path, read(t, bundle))
					if got := verified(t, append(good, attached)...); got.reasons() != "[verified]" {
						t.Errorf("polex refuses: %+v", got)
					}
					want := map[string]string{"keyless": "[wrong-identity]", "by key": "[unknown-key]"}[how]
					if got := verified(t, append(wrong, attached)...); got.reasons() != want {
						t.Errorf("of another signer: %s, want %s", got.reasons(), want)
					}
				})
			}
		}
	}
}
