//go:build e2e

package interop

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/servers"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

const password = "correct horse"

// theirEnv returns the environment for other projects' commands: the roots in their form, a home
// folder, and no connection beyond loopback.
func theirEnv(t *testing.T) []string {
	t.Helper()
	return []string{
		"SIGSTORE_ROOT_FILE=" + real.FulcioChainPath, "SIGSTORE_REKOR_PUBLIC_KEY=" + real.RekorKeyPath, "SIGSTORE_CT_LOG_PUBLIC_KEY_FILE=" + real.CTLogKeyPath,
		"HOME=" + t.TempDir(), "COSIGN_PASSWORD=" + password,
		"HTTPS_PROXY=http://127.0.0.1:1", "HTTP_PROXY=http://127.0.0.1:1",
	}
}

// cosign runs cosign's command.
func cosign(t *testing.T, args ...string) error {
	t.Helper()
	return commands.Finish(t.Context(), servers.Command{Program: fixture.FromRoot("bin/e2e/cosign"), Args: args, Env: theirEnv(t), Dir: t.TempDir()})
}

// keyPair makes a key pair with cosign's command, and returns the paths.
func keyPair(t *testing.T) (private, public string) {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, cosign(t, "generate-key-pair", "--output-key-prefix", filepath.Join(dir, "cosign")))
	return filepath.Join(dir, "cosign.key"), filepath.Join(dir, "cosign.pub")
}

// TestCosignVerifiesOurs: cosign verify-blob accepts the signatures of polex-sign, in either form of the evidence.
func TestCosignVerifiesOurs(t *testing.T) {
	private, public := keyPair(t)
	_, stranger := keyPair(t)
	id := sandbox.Identity{}.Subject()
	keyless := func(subject string) []string {
		return []string{"--certificate-identity", subject, "--certificate-oidc-issuer", box.IssuerURL}
	}
	modern := []string{"--trusted-root", real.TrustedRootPath, "--bundle"}
	old := []string{"--new-bundle-format=false", "--offline", "--rekor-url", real.RekorURL, "--bundle"}
	for group := range drafts {
		byWorkflow, byWorkflowV2 := sealed(t, theReal(), draft(t, group, "agent")), sealed(t, theRealV2(), draft(t, group, "agent"))
		byKey := filepath.Join(t.TempDir(), "by-key.yaml")
		must.Do(t, commands.Finish(t.Context(), servers.Command{Program: "polex-sign",
			Env: []string{"COSIGN_PASSWORD=" + password},
			Args: []string{"--key", private, "--rekor-url", real.RekorURL, "--trusted-root", real.TrustedRootPath,
				draft(t, group, "agent"), "--output-file", byKey}}))
		for _, tc := range []struct {
			name, path, bundle string
			how, good, wrong   []string
		}{
			{"keyless, new", byWorkflow, takeApart(t, byWorkflow).modern, modern, keyless(id), keyless(id + "-evil")},
			{"keyless, old", byWorkflow, takeApart(t, byWorkflow).old, old, keyless(id), keyless(id + "-evil")},
			{"keyless, Rekor 2", byWorkflowV2, takeApart(t, byWorkflowV2).modern, modern, keyless(id), keyless(id + "-evil")},
			{"by key, new", byKey, takeApart(t, byKey).modern, modern, []string{"--key", public}, []string{"--key", stranger}},
			{"by key, old", byKey, takeApart(t, byKey).old, append([]string{"--signature", signatureFile(t, byKey)}, old...), []string{"--key", public}, []string{"--key", stranger}},
		} {
			t.Run(group+", "+tc.name, func(t *testing.T) {
				signed := takeApart(t, tc.path).message
				verify := func(who []string, blob string) error {
					return cosign(t, slices.Concat([]string{"verify-blob"}, tc.how, []string{tc.bundle}, who, []string{blob})...)
				}
				err := verify(tc.good, signed)
				expect.That(t, err == nil, "cosign refuses: %v", err)
				expect.That(t, verify(tc.good, write(t, "other.yaml", "#"+read(t, signed))) != nil,
					"cosign accepts another message")
				expect.That(t, verify(tc.wrong, signed) != nil, "cosign accepts another signer")
			})
		}
	}
}

// signatureFile writes the signature of a signed document in cosign's form.
func signatureFile(t *testing.T, path string) string {
	t.Helper()
	value, _ := parse(t, read(t, path)).Lookup("metadata", "annotations", seal.Prefix+"signature")
	text, isText := value.(string)
	must.That(t, isText, "%s has no signature", path)
	return write(t, "signature", text)
}

// resolved writes an exception with an expiry in place of a duration, which other signers do not convert.
func resolved(t *testing.T, group, name string) string {
	t.Helper()
	at := time.Now().Add(7 * 24 * time.Hour).UTC().Format(time.RFC3339)
	text := strings.Replace(read(t, draft(t, group, name)), "polex.dev/expires-in: 7d", "polex.dev/expires-at: "+at, 1)
	return write(t, name+".yaml", text)
}

// signingConfig writes the addresses of the services in a signing configuration, which cosign reads
// by default. A timestamp comes with Rekor v2 only: Rekor v1 has times of its own.
func signingConfig(t *testing.T, rekorURL string, rekorVersion int) string {
	t.Helper()
	service := func(url string, version int) string {
		return fmt.Sprintf(`[{"url": %q, "majorApiVersion": %d, "validFor": {"start": "2026-01-01T00:00:00Z"}, "operator": "polex"}]`, url, version)
	}
	timestamps := "[]"
	if rekorVersion == 2 {
		timestamps = service(real.TimestampURL, 1)
	}
	return write(t, "signing.json", fmt.Sprintf(`{"mediaType": "application/vnd.dev.sigstore.signingconfig.v0.2+json",
		"caUrls": %s, "rekorTlogUrls": %s, "rekorTlogConfig": {"selector": "ANY"}, "tsaUrls": %s, "tsaConfig": {"selector": "ANY"}}`,
		service(real.FulcioURL, 1), service(rekorURL, rekorVersion), timestamps))
}

// TestOursVerifiesCosigns: the output of cosign sign-blob for a message, attached to the document,
// is a valid signature. polex also accepts a Sigstore bundle in a file of its own.
func TestOursVerifiesCosigns(t *testing.T) {
	private, public := keyPair(t)
	_, stranger := keyPair(t)
	old := []string{"--new-bundle-format=false", "--use-signing-config=false", "--rekor-url", real.RekorURL, "--fulcio-url", real.FulcioURL}
	services := func(rekorURL string, version int, further ...string) []string {
		return append([]string{"--signing-config", signingConfig(t, rekorURL, version), "--trusted-root", real.TrustedRootPath}, further...)
	}
	workflow := []string{"--config", theReal().config}
	somebody := []string{"--trusted-root", real.TrustedRootPath, "--certificate-identity", "https://example.com/other", "--certificate-oidc-issuer", box.IssuerURL}
	byKey, byStranger := []string{"--trusted-root", real.TrustedRootPath, "--key", public}, []string{"--trusted-root", real.TrustedRootPath, "--key", stranger}
	for _, tc := range []struct {
		name        string
		sign        []string
		keyless     bool
		read        func(*testing.T, string) seal.Signature
		good, wrong []string
		want        string // the expected reason
	}{
		{"keyless, old", old, true, fromOld, workflow, somebody, "[wrong-identity]"},
		{"keyless, new", services(real.RekorURL, 1), true, fromModern, workflow, somebody, "[wrong-identity]"},
		{"keyless, Rekor 2", services(real.RekorV2URL, 2), true, fromModern, workflow, somebody, "[wrong-identity]"},
		{"by key, old", append(old, "--key", private), false, fromOld, byKey, byStranger, "[unknown-key]"},
		{"by key, new", services(real.RekorURL, 1, "--key", private), false, fromModern, byKey, byStranger, "[unknown-key]"},
	} {
		for group := range drafts {
			t.Run(group+", "+tc.name, func(t *testing.T) {
				path := resolved(t, group, "agent")
				signed := message(t, path)
				bundle := filepath.Join(t.TempDir(), "bundle.json")
				args := append([]string{"sign-blob", "--yes", "--bundle", bundle}, tc.sign...)
				if tc.keyless {
					args = append(args, "--identity-token", token(t, sandbox.Identity{}))
				}
				must.Do(t, cosign(t, append(args, signed)...))
				signature := tc.read(t, bundle)
				asked := map[string][]string{"attached": {attach(t, path, signature)}}
				if signature.BundleV03 != nil {
					asked["beside it"] = []string{"--bundle", bundle, signed}
				}
				for where, args := range asked {
					got := verified(t, slices.Concat(tc.good, args)...)
					expect.That(t, got.reasons() == "[verified]", "%s: polex refuses: %+v", where, got)
					if got := verified(t, slices.Concat(tc.wrong, args)...); got.reasons() != tc.want {
						t.Errorf("%s, of another signer: %s, want %s", where, got.reasons(), tc.want)
					}
				}
			})
		}
	}
}
