//go:build e2e

package interop

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/servers"
)

// kubectlSigstore runs the peer's command, and answers its questions with yes.
func kubectlSigstore(t *testing.T, d *detour, args ...string) error {
	t.Helper()
	return commands.Finish(t.Context(), servers.Command{Program: fixture.FromRoot("bin/e2e/kubectl-sigstore"), Args: args, Dir: t.TempDir(), Input: "y\ny\ny\n",
		Env: append(theirEnv(t), "HTTPS_PROXY="+d.url, "HTTP_PROXY="+d.url, "SSL_CERT_FILE="+d.certificate,
			"ACTIONS_ID_TOKEN_REQUEST_URL="+box.TokenRequestURL, "ACTIONS_ID_TOKEN_REQUEST_TOKEN="+box.TokenRequestToken)})
}

// kubectlSigstoreSign signs a file with the peer's command.
func kubectlSigstoreSign(t *testing.T, d *detour, args ...string) {
	t.Helper()
	if err := kubectlSigstore(t, d, append([]string{"sign", "--tarball=no", "--rekor-url", indexed(t)}, args...)...); err != nil {
		t.Fatal(err)
	}
}

// indexed returns the address of a proxy for Rekor. The peer searches the index directly after an
// upload, and fails if there is no result. Rekor writes the index after its answer, so the proxy
// waits for a result.
func indexed(t *testing.T) string {
	t.Helper()
	log, err := url.Parse(real.RekorURL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(log)
	proxy.Transport = untilIndexed{}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

// untilIndexed repeats a search of the index while it has no result, for a limited time.
type untilIndexed struct{}

func (untilIndexed) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/api/v1/index/retrieve" {
		return http.DefaultTransport.RoundTrip(r)
	}
	search, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for left := 100; ; left-- {
		r.Body = io.NopCloser(bytes.NewReader(search))
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		found, err := io.ReadAll(answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil {
			return nil, err
		}
		if answer.StatusCode != http.StatusOK || left == 0 || string(bytes.TrimSpace(found)) != "[]" {
			answer.Body = io.NopCloser(bytes.NewReader(found))
			return answer, nil
		}
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-again.C:
		}
	}
}

// TestOursVerifiesKubectlSigstores: polex verifies the output of kubectl-sigstore sign, keyless and
// by key.
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

// TestKubectlSigstoreVerifiesOurs: kubectl-sigstore verify accepts the output of polex-sign, and
// rejects modified documents and other signers.
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
