package guard

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/servers"
	"github.com/polex-dev/polex/test/must"
)

// Program is the name of the program.
const Program = "polex-guard"

// Options configure a guard. Its certificate is tls.crt and tls.key in the folder.
type Options struct {
	Binaries   string // folder that holds polex-guard
	Dir        string // for its certificate and its log
	Config     string // path of its configuration
	Kubeconfig string
	Webhook    string   // host:port; "" is a free one
	Flags      []string // further flags
}

// Process is a running polex-guard, on ports of its own on loopback.
type Process struct {
	*servers.Group
	Webhook, Metrics, Health string // host:port

	command servers.Command
}

// Start starts a guard, and does not wait until it is ready. It stops with Stop or at the end of
// the context.
func Start(ctx context.Context, o Options) (*Process, error) {
	free, err := servers.FreePorts(3)
	if err != nil {
		return nil, err
	}
	at := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	p := &Process{Group: &servers.Group{Binaries: o.Binaries, Dir: o.Dir}, Webhook: at(free[0]), Metrics: at(free[1]), Health: at(free[2])}
	p.Webhook = cmp.Or(o.Webhook, p.Webhook)
	p.command = servers.Command{Program: Program, End: syscall.SIGTERM, Args: []string{
		"serve", "--config", o.Config, "--kubeconfig", o.Kubeconfig,
		"--tls-cert", filepath.Join(o.Dir, "tls.crt"), "--tls-key", filepath.Join(o.Dir, "tls.key"),
		"--webhook-address", p.Webhook, "--metrics-address", p.Metrics, "--health-address", p.Health,
	}}
	for _, preset := range [][]string{{"--shutdown-delay", "0s"}, {"--namespace", "default"}} {
		if !slices.Contains(o.Flags, preset[0]) { // a flag may occur once only
			p.command.Args = append(p.command.Args, preset...)
		}
	}
	p.command.Args = append(p.command.Args, o.Flags...)
	return p, p.Again(ctx)
}

// Serve starts a guard with a certificate of its own, and waits until it is ready. It stops at the end of
// the test. Serve returns its certificate authority, too.
func Serve(t testing.TB, o Options) (p *Process, bundle []byte) {
	t.Helper()
	o.Dir = cmp.Or(o.Dir, t.TempDir())
	bundle = must.Get(Certify(o.Dir))(t)
	p = must.Get(Start(context.Background(), o))(t)
	fixture.StopAfter(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	must.Do(t, p.Ready(ctx))
	return p, bundle
}

// Again restarts a stopped or killed guard with the same options.
func (p *Process) Again(ctx context.Context) error { return p.Run(ctx, p.command) }

// Ready waits until the guard is ready.
func (p *Process) Ready(ctx context.Context) error {
	return p.Until(ctx, "the guard to be ready", func(ctx context.Context) error { return get(ctx, "http://"+p.Health+"/readyz") })
}

func get(ctx context.Context, url string) error {
	_, err := servers.Fetch(ctx, url)
	return err
}

// Webhooks is the API path of webhook configurations.
const Webhooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"

// Registration returns the webhook configuration for a guard at an address. bundle is its
// certificate authority.
func Registration(address string, bundle []byte) string {
	return fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: polex-guard}
webhooks:
- name: guard.polex.dev
  clientConfig: {url: "https://%[1]s/admit", caBundle: "%[2]s"}
  rules:
  - {apiGroups: [kyverno.io, policies.kyverno.io], apiVersions: ["*"], resources: [policyexceptions, policyexceptions/*], operations: [CREATE, UPDATE, CONNECT], scope: "*"}
  failurePolicy: Fail
  matchPolicy: Exact
  sideEffects: None
  admissionReviewVersions: [v1]
  timeoutSeconds: 10
- name: deletions.guard.polex.dev
  clientConfig: {url: "https://%[1]s/deleted", caBundle: "%[2]s"}
  rules:
  - {apiGroups: [kyverno.io, policies.kyverno.io], apiVersions: ["*"], resources: [policyexceptions], operations: [DELETE], scope: "*"}
  failurePolicy: Ignore
  matchPolicy: Exact
  sideEffects: NoneOnDryRun
  admissionReviewVersions: [v1]
  timeoutSeconds: 2
`, address, base64.StdEncoding.EncodeToString(bundle))
}

// Certify writes a certificate for loopback and some names to a folder, and returns its certificate
// authority.
func Certify(dir string, names ...string) ([]byte, error) {
	return CertifyUntil(dir, time.Now().Add(90*24*time.Hour), names...)
}

// CertifyUntil is [Certify] with an expiry.
func CertifyUntil(dir string, expires time.Time, names ...string) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "polex-guard"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: expires,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: names,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, text := range map[string][]byte{"tls.crt": certificate, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return nil, err
		}
	}
	return certificate, nil
}
