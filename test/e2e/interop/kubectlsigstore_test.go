//go:build e2e

package interop

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/servers"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// kubectlSigstore runs the peer's command, and answers its questions with yes.
func kubectlSigstore(t *testing.T, d *detour, args ...string) error {
	t.Helper()
	return commands.Finish(t.Context(), kubectlSigstoreCommand(t, d, args...))
}

func kubectlSigstoreCommand(t *testing.T, d *detour, args ...string) servers.Command {
	t.Helper()
	return servers.Command{Program: fixture.FromRoot("bin/e2e/kubectl-sigstore"), Args: args, Dir: t.TempDir(), Input: "y\ny\ny\n",
		Env: append(theirEnv(t), "HTTPS_PROXY="+d.url, "HTTP_PROXY="+d.url, "SSL_CERT_FILE="+d.certificate,
			"ACTIONS_ID_TOKEN_REQUEST_URL="+box.TokenRequestURL, "ACTIONS_ID_TOKEN_REQUEST_TOKEN="+box.TokenRequestToken)}
}

// kubectlSigstoreSign signs a file with the peer's command.
func kubectlSigstoreSign(t *testing.T, d *detour, args ...string) {
	t.Helper()
	must.Do(t, kubectlSigstore(t, d, append([]string{"sign", "--tarball=no", "--rekor-url", indexed(t)}, args...)...))
}

// indexed returns the address of a proxy for Rekor. The peer searches the index directly after an upload, and fails if
// there is no result. Rekor writes the index after its answer, so the proxy waits for a result.
func indexed(t *testing.T) string {
	t.Helper()
	log := must.Get(url.Parse(real.RekorURL))(t)
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

// TestOursVerifiesKubectlSigstores: polex verifies the output of kubectl-sigstore sign, keyless and by key.
func TestOursVerifiesKubectlSigstores(t *testing.T) {
	private, public := keyPair(t)
	for group := range drafts {
		signs := func(t *testing.T, name string, args ...string) (out string, d *detour) {
			t.Helper()
			d = newDetour(t)
			out = filepath.Join(t.TempDir(), "sealed.yaml")
			kubectlSigstoreSign(t, d, append(args, "-f", resolved(t, group, name), "-o", out)...)
			expect.Empty(t, "others that it asked", d.refused)
			return out, d
		}
		t.Run(group+", keyless", func(t *testing.T) {
			out, d := signs(t, "peer-keyless")
			expect.That(t, d.led != 0, "it did not ask Fulcio")
			got := verified(t, "--config", theReal().config, out)
			expect.That(t, got.reasons() == "[verified]", "polex refuses: %+v", got)
			got = verified(t, "--trusted-root", real.TrustedRootPath, "--certificate-identity", sandbox.Identity{}.Subject(),
				"--certificate-oidc-issuer", box.OtherIssuerURL, out)
			expect.That(t, got.reasons() == "[wrong-identity]", "by another issuer: %+v", got)
		})
		t.Run(group+", by key", func(t *testing.T) {
			out, _ := signs(t, "peer-key", "--key", private)
			got := verified(t, "--trusted-root", real.TrustedRootPath, "--key", public, out)
			expect.That(t, got.reasons() == "[verified]", "polex refuses: %+v", got)
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
			err := verify(id, good)
			expect.That(t, err == nil, "it refuses: %v", err)
			if verify(id, write(t, "widened.yaml", strings.Replace(read(t, good), "agent-", "a", 1))) == nil {
				t.Error("it accepts another document")
			}
			expect.That(t, verify(id+"-evil", good) != nil, "it accepts another signer")
			expect.That(t, len(d.refused) == 0, "asked others: %q", d.refused)
		})
	}
}

// detour is a proxy for a command with a fixed address of Fulcio. It connects that address to the
// real Fulcio on loopback, and rejects every other one.
type detour struct {
	url         string // for HTTPS_PROXY
	certificate string // path of a certificate that the command must trust, for SSL_CERT_FILE

	mu      sync.Mutex
	led     int
	refused []string
}

const fixedFulcio = "fulcio.sigstore.dev"

func newDetour(t *testing.T) *detour {
	t.Helper()
	certificate := must.Get(selfSigned(fixedFulcio))(t)
	fulcio := must.Get(url.Parse(real.FulcioURL))(t)
	d := &detour{certificate: write(t, "fulcio.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})))}
	inside := &tunnelled{connections: make(chan net.Conn), closed: make(chan struct{})}
	behind := &http.Server{Handler: httputil.NewSingleHostReverseProxy(fulcio), ReadHeaderTimeout: time.Minute}
	go func() {
		_ = behind.Serve(tls.NewListener(inside, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}))
	}()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.lead(w, r, inside) }))
	t.Cleanup(func() {
		front.Close()
		_ = behind.Close() // the front has its connections
	})
	d.url = front.URL
	return d
}

// lead answers a request for a tunnel, and connects it to Fulcio.
func (d *detour) lead(w http.ResponseWriter, r *http.Request, inside *tunnelled) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.Method != http.MethodConnect || r.Host != fixedFulcio+":443" {
		d.refused = append(d.refused, r.Method+" "+r.Host)
		http.Error(w, "a test speaks to loopback only", http.StatusForbidden)
		return
	}
	connection, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		d.refused = append(d.refused, err.Error())
		return
	}
	d.led++
	_, _ = fmt.Fprint(connection, "HTTP/1.1 200 OK\r\n\r\n") // the client reports an error
	select {
	case inside.connections <- readAhead{connection, buffered.Reader}:
	case <-inside.closed:
		_ = connection.Close()
	}
}

// tunnelled is a listener for connections through the proxy.
type tunnelled struct {
	connections chan net.Conn
	closed      chan struct{}
	once        sync.Once
}

func (l *tunnelled) Accept() (net.Conn, error) {
	select {
	case c := <-l.connections:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *tunnelled) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *tunnelled) Addr() net.Addr { return &net.TCPAddr{} }

// readAhead is a connection that the proxy has partly read.
type readAhead struct {
	net.Conn
	from *bufio.Reader
}

func (c readAhead) Read(p []byte) (int, error) { return c.from.Read(p) }

func selfSigned(host string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{host}, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
