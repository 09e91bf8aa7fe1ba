//go:build e2e

package interop

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/servers"
)

// kubectlSigstore runs the peer's own command. Its questions are answered with
// yes.
func kubectlSigstore(t *testing.T, d *detour, args ...string) error {
	t.Helper()
	return commands.Finish(t.Context(), servers.Command{Program: fromRoot("bin/e2e/kubectl-sigstore"), Args: args, Dir: t.TempDir(), Input: "y\ny\ny\n",
		Env: append(theirEnv(t), "HTTPS_PROXY="+d.url, "HTTP_PROXY="+d.url, "SSL_CERT_FILE="+d.certificate,
			"ACTIONS_ID_TOKEN_REQUEST_URL="+box.TokenRequestURL, "ACTIONS_ID_TOKEN_REQUEST_TOKEN="+box.TokenRequestToken)})
}

// kubectlSigstoreSign has the peer sign a file. It searches the log's index for what it
// has just uploaded, and gives up where the index is not that far: then it is asked
// again.
func kubectlSigstoreSign(t *testing.T, d *detour, args ...string) {
	t.Helper()
	for tries := 1; ; tries++ {
		err := kubectlSigstore(t, d, append([]string{"sign", "--tarball=no", "--rekor-url", real.RekorURL}, args...)...)
		if err == nil {
			return
		}
		if tries == 5 || !strings.Contains(err.Error(), "could not find a tlog entry") {
			t.Fatal(err)
		}
	}
}

// TestOursVerifiesKubectlSigstores: what kubectl-sigstore sign writes is a seal,
// keyless and by key.
func TestOursVerifiesKubectlSigstores(t *testing.T) {
	private, public := keyPair(t)
	for group := range drafts {
		t.Run(group+", keyless", func(t *testing.T) {
			d := newDetour(t)
			out := filepath.Join(t.TempDir(), "sealed.yaml")
			kubectlSigstoreSign(t, d, "-f", resolved(t, group, "peer-keyless"), "-o", out)
			if d.led == 0 || len(d.refused) > 0 {
				t.Errorf("asked Fulcio %d times, and others: %q", d.led, d.refused)
			}
			if got := verified(t, "--config", theReal().config, out); got.reasons() != "[verified]" {
				t.Errorf("polex refuses: %+v", got)
			}
			if got := verified(t, "--trusted-root", real.TrustedRootPath, "--certificate-identity", sandbox.Identity{}.Subject(),
				"--certificate-oidc-issuer", box.OtherIssuerURL, out); got.reasons() != "[wrong-identity]" {
				t.Errorf("by another issuer: %+v", got)
			}
		})
		t.Run(group+", by key", func(t *testing.T) {
			d := newDetour(t)
			out := filepath.Join(t.TempDir(), "sealed.yaml")
			kubectlSigstoreSign(t, d, "--key", private, "-f", resolved(t, group, "peer-key"), "-o", out)
			if len(d.refused) > 0 {
				t.Errorf("asked others: %q", d.refused)
			}
			if got := verified(t, "--trusted-root", real.TrustedRootPath, "--key", public, out); got.reasons() != "[verified]" {
				t.Errorf("polex refuses: %+v", got)
			}
		})
	}
}

// TestKubectlSigstoreVerifiesOurs: kubectl-sigstore verify takes what polex-sign
// wrote, and nothing that was changed or that somebody else signed.
func TestKubectlSigstoreVerifiesOurs(t *testing.T) {
	for group := range drafts {
		t.Run(group, func(t *testing.T) {
			d := newDetour(t)
			verify := func(signer, path string) error {
				config := write(t, "config.yaml", "signers: ["+strconv.Quote(signer)+"]\n")
				return kubectlSigstore(t, d, "verify", "-f", path, "--config", config, "--oidc-issuer", box.IssuerURL, "--rekor-url", real.RekorURL)
			}
			id := sandbox.Identity{}.Subject()
			good := sealed(t, theReal(), draft(t, group, "agent"))
			if err := verify(id, good); err != nil {
				t.Errorf("it refuses: %v", err)
			}
			if verify(id, write(t, "widened.yaml", strings.Replace(read(t, good), "agent-", "a", 1))) == nil {
				t.Error("it accepts another document")
			}
			if verify(id+"-evil", good) == nil {
				t.Error("it accepts another signer")
			}
			if len(d.refused) > 0 {
				t.Errorf("asked others: %q", d.refused)
			}
		})
	}
}
