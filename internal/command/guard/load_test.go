package guard

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestLoadPolicies: the loader reads the policies that the configuration names, relative to its
// folder. A changed file changes the digest, and an unreadable file is an error.
func TestLoadPolicies(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) { must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)) }
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	der := must.Get(x509.MarshalPKIXPublicKey(&key.PublicKey))(t)
	write("key.pub", string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})))
	write("guard.yaml", "apiVersion: polex.dev/v1alpha1\nkind: Config\ntrust:\n  authorities: [{name: key, keyFile: key.pub, insecureWithoutLog: true}]\nguard:\n  policies: [policies.yaml]\n")
	load := loader(filepath.Join(dir, "guard.yaml"), "polex-system")
	seen := ""
	for _, policies := range []string{
		"apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: a}\nspec: {rules: [{name: b, match: {any: [&pods {resources: {kinds: [Pod]}}]}}]}\n",
		"apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: a}\nspec: {}\n",
	} {
		write("policies.yaml", policies)
		rules, err := load(seen)
		must.That(t, err == nil && rules != nil, "%v %v", rules, err)
		seen = rules.Digest()
		if again, err := load(seen); again != nil || err != nil {
			t.Errorf("nothing has changed: %v %v", again, err)
		}
	}
	write("policies.yaml", "kind: {\n---\nkind: }\n")
	if rules, err := load(seen); rules != nil || err == nil || !strings.Contains(err.Error(), "policies.yaml:1: this file of policies cannot be read") {
		t.Errorf("%v %v", rules, err)
	}
	must.Do(t, os.Remove(filepath.Join(dir, "policies.yaml")))
	rules, err := load(seen)
	expect.That(t, rules == nil && err != nil, "%v %v", rules, err)
}

// TestLoadOtherVersion: a guard rejects a configuration for a newer or an older version as a whole,
// and names its own version. An ignored key could be a restriction.
func TestLoadOtherVersion(t *testing.T) {
	const (
		known = "apiVersion: polex.dev/v1alpha1\nkind: Config\n"
		trust = "trust:\n  authorities: [{name: ci, issuer: https://ci.example, subject: https://ci.example/merge}]\n"
	)
	path := filepath.Join(t.TempDir(), "guard.yaml")
	for name, text := range map[string]string{
		"none":                                                 "",
		`apiVersion is "polex.dev/v1"`:                         "apiVersion: polex.dev/v1\nkind: Config\n" + trust,
		`apiVersion is "polex.dev/v1alpha0"`:                   "apiVersion: polex.dev/v1alpha0\nkind: Config\n" + trust,
		`unknown field "trust.notAfter"`:                       known + trust + "  notAfter: 2027-01-01\n",
		`unknown field "trust.authorities[0].team"`:            known + strings.Replace(trust, "name: ci", "name: ci, team: a", 1),
		`unknown field "guard.quota"`:                          known + trust + "guard: {quota: 1}\n",
		`unknown field "fleet"`:                                known + trust + "fleet: {}\n",
		"trust.threshold: expected a whole number, found text": known + trust + "  threshold: all\n",
	} {
		if text == "" {
			text = known + trust
		}
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		rules, err := loader(path, "polex-system")("")
		if name == "none" {
			expect.That(t, rules != nil && err == nil, "the configuration of this version: %v", err)
			continue
		}
		if want := " (this is polex-guard " + cli.VersionText() + ": correct the configuration, or install the version that it is written for)"; rules != nil ||
			err == nil || !strings.Contains(err.Error(), name) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v %v", name, rules, err)
		}
	}
}

// TestFirstExpiry: the metric covers a CA behind the certificate, which people renew.
func TestFirstExpiry(t *testing.T) {
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	early, late := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	certificate := func(ends time.Time) []byte {
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: ends}
		return must.Get(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	}
	for _, chain := range [][][]byte{{certificate(early), certificate(late)}, {certificate(late), certificate(early)}, {certificate(early)}} {
		got := firstExpiry(chain)
		expect.That(t, got.Equal(early), "%s, want %s", got, early)
	}
	got := firstExpiry(nil)
	expect.That(t, got.IsZero(), "no chain: %s", got)
}

// apiServer is an HTTPS server that answers with the credentials of the client.
type apiServer struct {
	*httptest.Server
	key         *ecdsa.PrivateKey // of the CA of its clients
	certificate *x509.Certificate
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	a := &apiServer{key: newKey(t)}
	a.certificate = a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, a.key)
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	a.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := r.Header.Get("Authorization")
		for _, c := range r.TLS.PeerCertificates {
			text += c.Subject.CommonName
		}
		_, _ = fmt.Fprint(w, text)
	}))
	a.TLS = &tls.Config{ClientCAs: pool, ClientAuth: tls.VerifyClientCertIfGiven}
	a.EnableHTTP2 = true
	a.StartTLS()
	t.Cleanup(a.Close)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	return must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
}

func (a *apiServer) sign(t *testing.T, template *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	parent := a.certificate
	if parent == nil {
		parent = template
	}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, parent, key.Public(), a.key))(t)
	return must.Get(x509.ParseCertificate(der))(t)
}

// client returns the certificate of a client and its key, in PEM.
func (a *apiServer) client(t *testing.T, name string, expires time.Time) (certificate, key string) {
	t.Helper()
	private := newKey(t)
	signed := a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: expires, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, private)
	der := must.Get(x509.MarshalECPrivateKey(private))(t)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed.Raw})), string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

// kubeconfig returns a kubeconfig for the server.
func (a *apiServer) kubeconfig(user string) string {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw})
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: a, user: {%s}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
current-context: a
`, a.URL, inBase64(string(ca)), user)
}

func inBase64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// asked returns the credentials with which a request arrives.
func asked(t *testing.T, config *rest.Config) string {
	t.Helper()
	client := must.Get(rest.HTTPClientFor(config))(t)
	answer := must.Get(client.Get(config.Host))(t)
	defer answer.Body.Close()
	return string(must.Get(io.ReadAll(answer.Body))(t))
}

func writeAll(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700))
	}
}

// TestKubeconfigRenewed: requests use renewed credentials without a restart, in each form that a
// kubeconfig has for them. Those that cannot be used change nothing.
func TestKubeconfigRenewed(t *testing.T) {
	server := newAPIServer(t)
	now := time.Now().Truncate(time.Second)
	year := now.Add(365 * 24 * time.Hour)
	// Each form has the user in the kubeconfig and other files, with variables for the credentials of a generation.
	for name, form := range map[string]struct {
		user  string
		files map[string]string
	}{
		"certificate in the file": {"client-certificate-data: $CERT64, client-key-data: $KEY64", nil},
		"certificate in other files": {"client-certificate: tls.crt, client-key: tls.key",
			map[string]string{"tls.crt": "$CERT", "tls.key": "$KEY"}},
		"certificate and key in one file": {"client-certificate: current.pem, client-key: current.pem",
			map[string]string{"current.pem": "$CERT$KEY"}},
		"token in the file":     {"token: $TOKEN", nil},
		"token in another file": {"tokenFile: token", map[string]string{"token": "$TOKEN\n"}},
		"token in both":         {"token: older, tokenFile: token", map[string]string{"token": "$TOKEN\n"}},
		"program": {"exec: {apiVersion: client.authentication.k8s.io/v1, command: ./login, interactiveMode: Never}", map[string]string{"login": `#!/bin/sh
echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "$TOKEN"}}'
`}},
	} {
		t.Run(name, func(t *testing.T) {
			bearer := !strings.HasPrefix(form.user, "client-certificate") // a token, without an expiry
			files := func(name string, expires time.Time) map[string]string {
				certificate, key := server.client(t, name, expires)
				filled := strings.NewReplacer("$CERT64", inBase64(certificate), "$KEY64", inBase64(key), "$CERT", certificate, "$KEY", key, "$TOKEN", name)
				all := map[string]string{"kubeconfig": server.kubeconfig(filled.Replace(form.user))}
				for file, text := range form.files {
					all[file] = filled.Replace(text)
				}
				return all
			}
			dir := t.TempDir()
			writes := func(name string, expires time.Time) { writeAll(t, dir, files(name, expires)) }
			writes("first", year)
			config, k, err := (&clusterFlags{Kubeconfig: filepath.Join(dir, "kubeconfig")}).restConfig(now)
			must.Do(t, err)
			arrives := func(name string, expires time.Time) {
				t.Helper()
				if bearer {
					name, expires = "Bearer "+name, time.Time{}
				}
				expect.Is(t, "user", name, asked(t, config))
				expect.That(t, k.expires.Equal(expires), "it expires at %s, want %s", k.expires, expires)
			}
			arrives("first", year)
			if name == "program" {
				return // client-go runs the program again when its credentials expire or are refused
			}
			before := k.transport.Load()
			if err := k.load(now); err != nil || k.transport.Load() != before {
				t.Errorf("nothing has changed: %v", err)
			}
			writes("second", year.Add(time.Hour))
			arrives("first", year)
			must.Do(t, k.load(now))
			arrives("second", year.Add(time.Hour))

			whole := files("third", year)
			for file, text := range whole {
				for what, broken := range map[string]string{"empty": "", "garbage": "\x00", "half": text[:len(text)/2]} {
					if what == "half" && bearer || what == "garbage" && file == "token" {
						continue // half a token is a token
					}
					writeAll(t, dir, whole)
					writeAll(t, dir, map[string]string{file: broken})
					if err := k.load(now); err == nil || !strings.HasPrefix(err.Error(), "--kubeconfig: ") {
						t.Errorf("%s is %s: %v", file, what, err)
					}
					arrives("second", year.Add(time.Hour))
				}
				must.Do(t, os.Remove(filepath.Join(dir, file)))
				expect.That(t, k.load(now) != nil, "%s is missing", file)
				arrives("second", year.Add(time.Hour))
			}
			if !bearer {
				writes("expired", now)
				if err := k.load(now); err == nil || !strings.Contains(err.Error(), "the client certificate expired at ") {
					t.Errorf("an expired certificate: %v", err)
				}
				arrives("second", year.Add(time.Hour))
			}
			writes("third", year)
			must.Do(t, k.load(now))
			arrives("third", year)
		})
	}
}

// TestKubeconfigOtherwise: the other statements of a new kubeconfig are judged too.
func TestKubeconfigOtherwise(t *testing.T) {
	server, other := newAPIServer(t), newAPIServer(t)
	now := time.Now()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	writes := func(text string) { writeAll(t, filepath.Dir(file), map[string]string{"kubeconfig": text}) }
	certificate, key := server.client(t, "ann", now.Add(time.Hour))
	_, foreign := server.client(t, "bob", now.Add(time.Hour))
	pair := func(certificate, key string) string {
		return "client-certificate-data: " + inBase64(certificate) + ", client-key-data: " + inBase64(key)
	}
	writes(server.kubeconfig(pair(certificate, key)))
	config, k, err := (&clusterFlags{Kubeconfig: file}).restConfig(now)
	must.Do(t, err)
	for name, text := range map[string]string{
		"the server is https://":                 other.kubeconfig("token: a"),
		"private key does not match public key":  server.kubeconfig(pair(certificate, foreign)),
		"no configuration has been provided":     "apiVersion: v1\nkind: Config\n",
		"context was not found":                  strings.Replace(server.kubeconfig("token: a"), "current-context: a", "current-context: b", 1),
		"larger than":                            server.kubeconfig("token: a") + strings.Repeat("#", maxKubeconfig),
		"unable to load root certificates":       strings.Replace(server.kubeconfig("token: a"), "certificate-authority-data: ", "certificate-authority-data: AAAA #", 1),
		"client-key-data or client-key must be ": server.kubeconfig("client-certificate-data: " + inBase64(certificate)),
	} {
		writes(strings.ReplaceAll(text, "AAAA #", "AAAA}}]\n#"))
		expect.Error(t, k.load(now), name)
		expect.Is(t, name+": user", "ann", asked(t, config))
	}
	// From a certificate to a token.
	writes(server.kubeconfig("token: a"))
	must.Do(t, k.load(now))
	got := asked(t, config)
	expect.That(t, got == "Bearer a" && k.expires.IsZero(), "%q, %s", got, k.expires)
	// A guard that starts with an expired certificate still answers reviews.
	certificate, key = server.client(t, "ann", now.Add(-time.Hour))
	writes(server.kubeconfig(pair(certificate, key)))
	if _, k, err = (&clusterFlags{Kubeconfig: file}).restConfig(now); err != nil || !k.expires.Before(now) {
		t.Errorf("%v", err)
	}
}
